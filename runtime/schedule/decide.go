package schedule

import (
	"slices"
	"time"
)

// The bounds of one decision. The rest follows in the next superstep.
const (
	mostTicks  = 1000 // that one decision looks at
	mostFiring = 100  // that one superstep submits
	maxRecent  = 10
)

// The pauses between two looks whether a firing is over, while another one waits for its end.
const (
	leastPoll = time.Second
	mostPoll  = 30 * time.Second
)

// decision decides which ticks of a schedule fire. It depends only on its fields, so a
// decision that a crash loses is made again.
type decision struct {
	*entry
	ticks   *ticks
	now     time.Time // on the saver's clock
	running bool      // the newest firing is not over
}

// apply changes the schedule as a command says.
func (d *decision) apply(c *command) {
	p := &d.Progress
	switch c.Kind {
	case pausing:
		p.Paused, p.Note = true, c.Note
	case unpausing:
		if p.Paused {
			p.Decided = d.now // the ticks of the pause do not fire
		}
		p.Paused, p.Note = false, c.Note
	case triggering:
		d.offer(Firing{Tick: d.now, Thread: triggerThread(d.ID, c.ID)})
	case backfilling:
		p.Ranges = append(slices.Clone(p.Ranges), c.Range)
	case updating:
		d.Spec, d.Action, p.Decided = c.Spec, c.Action, d.now
	}
}

// decide makes the decisions that are due.
func (d *decision) decide() {
	p := &d.Progress
	p.Wake, p.More = time.Time{}, false
	if p.Paused {
		p.Decided = d.now
	} else {
		d.miss()
		d.passTicks()
	}
	if len(p.Buffered) > 0 && d.idle() {
		p.Firing, p.Buffered = append(p.Firing, p.Buffered...), nil
	}
	d.backfill()
	p.Cancels = d.running && d.Spec.Overlap == Cancel && len(p.Buffered) > 0 && p.Cancelled != p.newest().Thread
	if len(p.Buffered) > 0 || len(p.Ranges) > 0 {
		p.wakeAt(d.now.Add(d.poll()))
	}
}

// miss counts the ticks that are too late to fire.
func (d *decision) miss() {
	p := &d.Progress
	limit := d.now.Add(-d.ticks.catchUp).Add(-d.ticks.jitter).Add(-1)
	n, newest := d.ticks.count(p.Decided, limit, mostTicks)
	p.Missed, p.Decided = p.Missed+n, newest
	p.More = d.ticks.every == 0 && n == mostTicks
}

// passTicks decides on the ticks that are due.
func (d *decision) passTicks() {
	p := &d.Progress
	for range mostTicks {
		tick := d.ticks.next(p.Decided)
		if p.More || tick.IsZero() {
			return
		}
		due := d.ticks.due(d.ID, tick)
		if due.After(d.now) {
			p.wakeAt(due)
			return
		}
		if d.full() {
			break
		}
		p.Decided = tick
		if d.now.Sub(due) > d.ticks.catchUp {
			p.Missed++
			continue
		}
		d.offer(Firing{Tick: tick, Thread: tickThread(d.ID, tick)})
	}
	p.More = true
}

// full reports whether the next superstep submits as much as it can.
func (d *decision) full() bool { return len(d.Progress.Firing) >= mostFiring }

// idle reports whether a firing can begin that must not overlap another one.
func (d *decision) idle() bool {
	return d.Spec.Overlap == Allow || !d.running && len(d.Progress.Firing) == 0
}

// offer decides what happens to a tick that is due.
func (d *decision) offer(f Firing) {
	p := &d.Progress
	f.At = d.now
	switch {
	case d.idle() && len(p.Buffered) == 0:
		p.Firing = append(slices.Clone(p.Firing), f)
	case d.Spec.Overlap == BufferOne && len(p.Buffered) == 0:
		p.Buffered = []Firing{f}
	case d.Spec.Overlap == Cancel:
		p.Skipped += int64(len(p.Buffered)) // an older tick that has not begun
		p.Buffered = []Firing{f}
	default:
		p.Skipped++
	}
}

// backfill fires the ticks of the ranges: one after another, or without waiting with Allow.
func (d *decision) backfill() {
	p := &d.Progress
	for len(p.Ranges) > 0 && d.idle() && len(p.Buffered) == 0 {
		if d.full() {
			p.More = true
			return
		}
		tick := d.ticks.next(p.Ranges[0].After)
		if tick.IsZero() || !tick.Before(p.Ranges[0].To) {
			p.Ranges = p.Ranges[1:]
			continue
		}
		p.Ranges = slices.Clone(p.Ranges)
		p.Ranges[0].After = tick
		p.Firing = append(slices.Clone(p.Firing), Firing{Tick: tick, Thread: tickThread(d.ID, tick), At: d.now})
	}
}

// poll returns how long to wait before the next look whether the newest firing is over: longer for
// one that has taken long.
func (d *decision) poll() time.Duration {
	if !d.running {
		return leastPoll // the firing of this decision begins now
	}
	return min(max(d.now.Sub(d.Progress.newest().At)/8, leastPoll), mostPoll)
}

// wakeAt makes the next decision due at a time, or earlier.
func (p *progress) wakeAt(at time.Time) {
	if p.Wake.IsZero() || at.Before(p.Wake) {
		p.Wake = at
	}
}

// newest returns the newest firing; zero for none.
func (p *progress) newest() Firing {
	if len(p.Recent) == 0 {
		return Firing{}
	}
	return p.Recent[len(p.Recent)-1]
}

// fired notes what the superstep has submitted. errs are the refusals.
func (p *progress) fired(errs []string) {
	if p.Cancels {
		p.Cancelled = p.newest().Thread
	}
	recent := slices.Clone(p.Recent)
	for i, f := range p.Firing {
		f.Err = errs[i]
		recent = append(recent, f)
	}
	p.Fired += int64(len(p.Firing))
	p.Recent = recent[max(0, len(recent)-maxRecent):]
	p.Firing, p.Cancels = nil, false
}
