package main

import (
	"fmt"
	"io"
	"time"
)

// progress shows the progress of a run. A terminal has one line, which is overwritten; other
// outputs get a line for each ticket.
type progress struct {
	out      io.Writer
	terminal bool
	total    int
	now      func() time.Time
	start    time.Time
	drawn    time.Time
	count    map[Standing]int
	told     int
}

// redraw is the minimum time between two updates of the line on a terminal.
const redraw = 40 * time.Millisecond

func newProgress(out io.Writer, terminal bool, total int, now func() time.Time) *progress {
	return &progress{out: out, terminal: terminal, total: total, now: now, start: now(), count: make(map[Standing]int)}
}

// tell prints one more report.
func (p *progress) tell(r Report) {
	p.told++
	p.count[r.Standing]++
	if !p.terminal {
		fmt.Fprintf(p.out, "%*d/%d %s %s\n", len(fmt.Sprint(p.total)), p.told, p.total, r.Ticket, r.line())
		return
	}
	if now := p.now(); p.told == p.total || now.Sub(p.drawn) >= redraw {
		p.drawn = now
		fmt.Fprintf(p.out, "\r\x1b[K%d/%d tickets, %.0f/s, %d waiting for approval, %d failed",
			p.told, p.total, p.rate(), p.count[Waiting], p.count[Failed])
	}
}

// end ends the line on a terminal.
func (p *progress) end() {
	if p.terminal && p.told > 0 {
		fmt.Fprintln(p.out)
	}
}

// rate returns the number of tickets for each second.
func (p *progress) rate() float64 {
	if d := p.now().Sub(p.start).Seconds(); d > 0 {
		return float64(p.told) / d
	}
	return 0
}

// line returns the standing of a ticket as one line.
func (r Report) line() string {
	switch {
	case r.Err != nil:
		return fmt.Sprintf("%s: %v", r.Standing, r.Err)
	case r.Standing == Waiting:
		return fmt.Sprintf("%s: may %s be refunded?", r.Standing, r.State.Refund)
	case r.Standing == Finished:
		return fmt.Sprintf("%s: %s", r.Standing, r.State.Outcome)
	}
	return string(r.Standing)
}
