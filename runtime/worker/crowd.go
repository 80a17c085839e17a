package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// crowd keeps the limits by label. A due thread whose label value has as many runs as it may have
// waits here, and starts when one of these runs has ended. Its reservation keeps it from other
// workers. The more threads wait, the longer are the reservations: so threads of other values are
// found soon, although thousands are due before them. Worker.mu guards a crowd.
type crowd struct {
	limits  []LabelLimit
	running map[labelValue]int
	waiting map[labelValue][]waiter
	ids     map[string]bool // of the waiters
	pause   time.Duration   // of the next reservation; zero is reserve
}

// labelValue is a label with its value.
type labelValue struct{ Label, Value string }

// waiter is a thread that the worker has reserved.
type waiter struct {
	checkpoint.ReadyThread
	until time.Time // the end of the reservation, on this process's clock
}

// The bounds of a crowd.
const (
	waitMost    = 10_000 // waiters; the reservations of others run out
	longReserve = time.Minute
	passMost    = 64 // threads that a call of Ready returns beyond the free slots, to get past waiters
)

// limit sets the limits.
func (c *crowd) limit(limits []LabelLimit) error {
	names := make(map[string]bool)
	for _, l := range limits {
		switch {
		case l.Label == "":
			return fmt.Errorf("worker: LabelLimits has a limit without a label; name one")
		case l.Max < 1:
			return fmt.Errorf("worker: the limit of label %q is %d; want at least 1", l.Label, l.Max)
		case names[l.Label]:
			return fmt.Errorf("worker: label %q has two limits; give one", l.Label)
		}
		names[l.Label] = true
	}
	c.limits, c.running, c.waiting = limits, make(map[labelValue]int), make(map[labelValue][]waiter)
	c.ids = make(map[string]bool)
	return nil
}

// reserve returns for how long the next call of Ready reserves threads.
func (c *crowd) reserve() time.Duration { return max(c.pause, reserve) }

// more returns how many threads beyond the free slots the next call of Ready asks for.
func (c *crowd) more() int {
	if c.pause == 0 {
		return 0
	}
	return passMost
}

// full returns a label value of a thread that has as many runs as it may have.
func (c *crowd) full(t *checkpoint.ReadyThread) (at labelValue, full bool) {
	for _, l := range c.limits {
		value, labelled := t.Labels[l.Label]
		if at = (labelValue{l.Label, value}); labelled && c.running[at] >= l.Max {
			return at, true
		}
	}
	return at, false
}

// wait notes a thread that waits for the end of a run.
func (c *crowd) wait(at labelValue, w waiter) {
	if len(c.ids) < waitMost && !c.ids[w.ID] {
		c.waiting[at] = append(c.waiting[at], w)
		c.ids[w.ID] = true
	}
}

// leave counts the end of a run.
func (c *crowd) leave(t *checkpoint.ReadyThread) { c.count(t, -1) }

func (c *crowd) count(t *checkpoint.ReadyThread, by int) {
	for _, l := range c.limits {
		value, labelled := t.Labels[l.Label]
		if !labelled {
			continue
		}
		at := labelValue{l.Label, value}
		if c.running[at] += by; c.running[at] == 0 {
			delete(c.running, at)
		}
	}
}

// next removes and returns a waiter that can run; nil for none. It drops waiters whose
// reservation has ended, because Ready returns them again.
func (c *crowd) next(now time.Time, may func(graph string) bool) *waiter {
	for at := range c.waiting {
		for len(c.waiting[at]) > 0 {
			w := c.waiting[at][0]
			over := !now.Before(w.until)
			if _, full := c.full(&w.ReadyThread); !over && (full || !may(w.Graph)) {
				break
			}
			delete(c.ids, w.ID)
			if c.waiting[at] = c.waiting[at][1:]; len(c.waiting[at]) == 0 {
				delete(c.waiting, at)
			}
			if !over {
				c.count(&w.ReadyThread, 1)
				return &w
			}
		}
	}
	return nil
}

// startWaiting starts waiters that can run now, as far as slots are free.
func (w *Worker) startWaiting(ctx context.Context) {
	for {
		w.mu.Lock()
		var next *waiter
		if w.free() > 0 {
			next = w.crowd.next(time.Now(), w.may)
		}
		w.mu.Unlock()
		if next == nil {
			return
		}
		w.start(ctx, next.ReadyThread, time.Time{})
	}
}

// startAll starts the threads that a call of Ready has returned. Those whose label value is at its
// limit wait, and those without a slot are given back.
func (w *Worker) startAll(ctx context.Context, got checkpoint.ReadyThreads) {
	var run, back []checkpoint.ReadyThread
	now, waits := time.Now(), false
	w.mu.Lock()
	pause, free := w.crowd.reserve(), w.free()
	for _, found := range got.Threads {
		at, full := w.crowd.full(&found)
		switch {
		case full:
			waits = true
			w.crowd.wait(at, waiter{found, now.Add(pause)})
		case w.apps[found.Graph].tasks:
			run = append(run, found)
			free++
		case len(run) < free:
			w.crowd.count(&found, 1)
			run = append(run, found)
		default:
			back = append(back, found)
		}
	}
	switch {
	case waits:
		w.crowd.pause = min(2*pause, longReserve)
	case len(w.crowd.ids) == 0:
		w.crowd.pause = 0
	}
	w.mu.Unlock()
	for _, found := range run {
		w.start(ctx, found, got.Now)
	}
	for _, found := range back {
		w.giveBack(ctx, &holding{ReadyThread: found})
	}
}

// may reports whether another thread of a graph may start. The caller must hold w.mu.
func (w *Worker) may(graph string) bool {
	t := w.apps[graph]
	return !t.draining && !w.pauses.paused(t) && (t.max == 0 || t.running < t.max)
}

// giveWaitersBack ends the reservations of the threads that wait, as far as there is time.
func (w *Worker) giveWaitersBack(ctx context.Context) {
	w.mu.Lock()
	waiting := w.crowd.waiting
	w.crowd.waiting, w.crowd.ids = make(map[labelValue][]waiter), make(map[string]bool)
	w.mu.Unlock()
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opt.SaverTimeout)
	defer cancel()
	for _, list := range waiting {
		for i := range list {
			if call.Err() == nil {
				w.giveBack(call, &holding{ReadyThread: list[i].ReadyThread})
			}
		}
	}
}

// free returns how many slots are free. The caller must hold w.mu.
func (w *Worker) free() int {
	if w.rests() {
		return 0
	}
	return w.opt.Slots - (len(w.held) - w.tasks)
}

// rests reports whether the worker takes nothing, because runs are late. The caller must hold
// w.mu.
func (w *Worker) rests() bool { return w.late > 0 || time.Now().Before(w.resumes) }
