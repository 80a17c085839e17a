package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// timeline draws when nodes ran, and when the thread waited. Its axis is compressed: a long pause
// has the same width as any other. A bar is a superstep, because savers store no times of its
// tasks. Only of the superstep in progress they store the pauses before attempts.
type timeline struct {
	Width, Height int
	Rows          []lineRow
	Bars          []bar
	Ticks         []tick
	Gaps          []gap
	From, To      time.Time
	Older         string // the address of the supersteps before; empty for none
}

// lineRow is the line of a node.
type lineRow struct {
	Name string
	Y    int
}

// bar is a span in which a node ran, or waits.
type bar struct {
	X, Y, W int
	Class   string // "ran", "running", "waiting", "failed"
	Link    string // of the checkpoint; empty for none
	Text    string
}

// tick is when an attempt was due, or failed.
type tick struct {
	X, Y int
	Text string
}

// gap is a pause.
type gap struct {
	X, W int
	Text string
}

// Sizes of the timeline, in CSS pixels.
const (
	lineHeight  = 24
	labelWidth  = 150
	innerWidth  = 800
	gapWidth    = 44
	barWidth    = 5 // the least
	maxLineRows = 30
)

// span is the time between two records.
type span struct {
	from, to time.Time
	idle     bool
	works    []work
	link     string
	width    int
}

// work is a node of a superstep that has committed, or a task of the one in progress.
type work struct {
	name   string
	class  string
	state  string  // as the text of the bar has it
	events []event // attempts that were due or failed
}

// timelineOf returns the timeline of records, which are newest first; nil if there is nothing to
// draw. The records of all branches are drawn, in the order in which they were stored.
func timelineOf(records []checkpoint.Record, v *view, now time.Time) *timeline {
	spans := spansOf(records, v, now)
	if len(spans) == 0 {
		return nil
	}
	layOut(spans)
	t := &timeline{From: spans[0].from, To: spans[len(spans)-1].to}
	lines := make(map[string]int)
	x := labelWidth
	for _, s := range spans {
		if s.idle {
			t.Gaps = append(t.Gaps, gap{x, s.width, took(s.to.Sub(s.from))})
		}
		for _, w := range s.works {
			y, ok := lines[w.name]
			if !ok {
				if len(t.Rows) == maxLineRows {
					continue
				}
				y = len(t.Rows) * lineHeight
				lines[w.name] = y
				t.Rows = append(t.Rows, lineRow{w.name, y + lineHeight - 8})
			}
			text := fmt.Sprintf("%s: %s, %s, until %s", printable(w.name), w.state, took(s.to.Sub(s.from)), exact(s.to))
			t.Bars = append(t.Bars, bar{x, y + 6, max(s.width-2, barWidth), w.class, s.link, text})
			for _, e := range w.events {
				at := x + int(float64(s.width-2)*float64(e.at.Sub(s.from))/float64(s.to.Sub(s.from)))
				t.Ticks = append(t.Ticks, tick{at, y + 3, fmt.Sprintf("%s: %s %s", printable(w.name), e.text, exact(e.at))})
			}
		}
		x += s.width
	}
	t.Width, t.Height = x+gapWidth/2, max(len(t.Rows), 1)*lineHeight+22
	return t
}

// spansOf returns the spans between records, oldest first, and the one until now.
func spansOf(records []checkpoint.Record, v *view, now time.Time) (spans []span) {
	var last *checkpoint.Record
	for i := range slices.Backward(records) {
		rec := &records[i]
		if last != nil && !rec.Created.Before(last.Created) {
			s := span{from: last.Created, to: rec.Created, idle: rec.Source != checkpoint.Loop}
			if !s.idle {
				s.link = v.at(rec.ID).link("checkpoint")
				for _, node := range rec.Ran {
					s.works = append(s.works, work{name: node, class: "ran", state: "ran"})
				}
			}
			spans = append(spans, s)
		}
		last = rec
	}
	if last == nil || last.ID != v.Chain.Head || !v.Chain.Unfinished() || !now.After(last.Created) {
		return spans
	}
	return append(spans, openSpan(last, v, now))
}

// event is a time within a span.
type event struct {
	at   time.Time
	text string
}

// openSpan returns the span of the superstep that has not committed, after its base.
func openSpan(base *checkpoint.Record, v *view, now time.Time) span {
	s := span{from: base.Created, to: now, idle: v.thread.Holder == ""}
	events := make(map[graph.PathElement][]event)
	add := func(k graph.PathElement, at time.Time, format string, attempt int) {
		if at.After(s.from) && !at.After(now) {
			events[k] = append(events[k], event{at, fmt.Sprintf(format, attempt)})
		}
	}
	timers, _ := graph.OpenTimers(checkpoint.Thread{Questions: v.Chain.Writes}) // without those that cannot be read
	for _, t := range timers {
		if t.Attempt > 0 {
			add(operate.Outer(v.Inner(t.Path), t.Node, t.Index), t.Due, "attempt %d was due at", t.Attempt)
		}
	}
	for _, t := range v.Tasks() {
		k := graph.PathElement{Node: t.Node, Index: t.Index}
		if t.Attempt > 0 {
			add(k, t.Failed, "attempt %d failed at", t.Attempt)
		}
		w := work{name: taskText(t.Node, t.Index), class: classOf(t.State, s.idle), events: events[k]}
		if w.state = w.class; t.State != "due" {
			w.state = t.State
		}
		if t.Then > 0 {
			w.state += fmt.Sprintf(", attempt %d begins %s", t.Then, ago(now, t.Next))
		}
		if t.Failure != "" {
			w.state += ", last error: " + clip(shortText, t.Failure)
		}
		s.works = append(s.works, w)
	}
	return s
}

// classOf returns the class of the bar of a task that has not committed.
func classOf(state string, idle bool) string {
	switch {
	case state == "finished":
		return "ran"
	case state == "failed":
		return "failed"
	case state == "due" && !idle:
		return "running"
	}
	return "waiting"
}

// layOut sets the widths of spans. A pause of more than a second that is longer than all work
// together is a break of a fixed width. The others share the rest by their duration.
func layOut(spans []span) {
	var work time.Duration
	for _, s := range spans {
		if !s.idle {
			work += s.to.Sub(s.from)
		}
	}
	var total time.Duration
	left := innerWidth
	for i := range spans {
		s := &spans[i]
		if d := s.to.Sub(s.from); s.idle && d > work && d > time.Second {
			s.width = gapWidth
			left -= gapWidth
		} else {
			total += d
		}
	}
	left = max(left, innerWidth/4)
	for i := range spans {
		s := &spans[i]
		if s.width == 0 {
			s.width = barWidth + 2
			if total > 0 {
				s.width += int(float64(left) * float64(s.to.Sub(s.from)) / float64(total))
			}
		}
		s.idle = s.idle && s.width == gapWidth
	}
}
