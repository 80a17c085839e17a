package inspect

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// timeline draws when nodes ran, and when the thread waited. Its axis is in proportion to time,
// but for breaks: a long pause has the same width as any other. A bar is a superstep, because
// savers store no times of its tasks. Only of the superstep in progress they store the pauses
// before attempts.
type timeline struct {
	Width, Height int
	Day           string // of the left end, in UTC
	Rows          []lineRow
	Bars          []bar
	Ticks         []tick
	Gaps          []gap
	Marks         []mark
	From, To      time.Time
	Moves         []choice // addresses of other windows; none if the whole is shown
	Older         string   // the address of the supersteps before; empty for none
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

// gap is a break of the axis.
type gap struct {
	X, W int
	Text string
}

// mark is a place of the axis, and the time from there to the next one.
type mark struct {
	X, W int
	Text string // empty if there is no room
	Link string // of the timeline of that time alone; empty for none
	Why  string
}

// Sizes of the timeline, in CSS pixels.
const (
	axisHeight  = 26
	lineHeight  = 24
	innerWidth  = 800
	gapWidth    = 44
	markWidth   = 84 // the least between two marks of the axis with a text
	barWidth    = 3  // the least
	maxLineRows = 30
)

// longest is the longest time between two marks of the axis, in nanoseconds.
const longest = float64(100 * 365 * 24 * time.Hour)

// window is the part of a timeline that a reader has chosen. The zero window is the whole.
type window struct {
	from, to time.Time
	link     func(pairs ...string) string // the address of the page with further parameters
}

// windowOf reads a window from the parameters of a request.
func windowOf(q url.Values, link func(pairs ...string) string) (w window, err error) {
	w.link = link
	if q.Get("from") == "" && q.Get("to") == "" {
		return w, nil
	}
	w.from, err = time.Parse(time.RFC3339Nano, q.Get("from"))
	if err == nil {
		w.to, err = time.Parse(time.RFC3339Nano, q.Get("to"))
	}
	if err != nil || !w.from.Before(w.to) {
		return w, bad("from=%s and to=%s are not two times, the first one first", q.Get("from"), q.Get("to"))
	}
	return w, nil
}

// at returns the address of another window.
func (w *window) at(from, to time.Time) string {
	return w.link("from", from.UTC().Format(time.RFC3339Nano), "to", to.UTC().Format(time.RFC3339Nano)) + "#timeline"
}

// moves returns the addresses of the windows around w. The whole is from first to last.
func (w *window) moves(first, last time.Time) (all []choice) {
	d := w.to.Sub(w.from)
	if w.from.After(first) {
		all = append(all, choice{w.at(w.from.Add(-d), w.from), "Earlier"})
	}
	if w.to.Before(last) {
		all = append(all, choice{w.at(w.to, w.to.Add(d)), "Later"})
	}
	if from, to := w.from.Add(-d), w.to.Add(d); from.After(first) || to.Before(last) {
		all = append(all, choice{w.at(from, to), "Zoom out"})
	}
	return append(all, choice{w.link() + "#timeline", "Show all"})
}

// cut returns the parts of spans in the window; all of them if there are none.
func (w *window) cut(spans []span) []span {
	var some []span
	for _, s := range spans {
		if s.to.Before(w.from) || s.from.After(w.to) {
			continue
		}
		if s.from.Before(w.from) {
			s.from = w.from
		}
		if s.to.After(w.to) {
			s.to = w.to
		}
		some = append(some, s)
	}
	if len(some) == 0 {
		return spans
	}
	return some
}

// span is the time between two records, or a part of it.
type span struct {
	from, to time.Time
	idle     bool
	gap      bool // it is drawn as a break
	works    []work
	link     string
	x, width float64
}

// work is a node of a superstep that has committed, or a task of the one in progress.
type work struct {
	name   string
	class  string
	text   string
	events []event // attempts that were due or failed
}

// timelineOf returns the timeline of records, which are newest first; nil if there is nothing to
// draw. The records of all branches are drawn, in the order in which they were stored.
func timelineOf(records []checkpoint.Record, v *view, now time.Time, w window) *timeline {
	spans := spansOf(records, v, now)
	if len(spans) == 0 {
		return nil
	}
	t := &timeline{}
	if !w.to.IsZero() {
		t.Moves = w.moves(spans[0].from, spans[len(spans)-1].to)
		spans = w.cut(spans)
	}
	scale := layOut(spans)
	t.From, t.To = spans[0].from, spans[len(spans)-1].to
	t.Day = t.From.UTC().Format(time.DateOnly) + " UTC"
	lines := make(map[string]int)
	for i := range spans {
		t.draw(&spans[i], lines)
	}
	t.axis(spans, scale, &w)
	last := &spans[len(spans)-1]
	t.Width, t.Height = int(last.x+last.width)+markWidth, axisHeight+max(len(t.Rows), 1)*lineHeight+22
	return t
}

// draw adds a span. lines has the place of each node.
func (t *timeline) draw(s *span, lines map[string]int) {
	if s.gap {
		t.Gaps = append(t.Gaps, gap{int(s.x), int(s.width), took(s.to.Sub(s.from))})
	}
	for _, w := range s.works {
		y, ok := lines[w.name]
		if !ok {
			if len(t.Rows) == maxLineRows {
				continue
			}
			y = axisHeight + len(t.Rows)*lineHeight
			lines[w.name] = y
			t.Rows = append(t.Rows, lineRow{w.name, y + lineHeight - 8})
		}
		t.Bars = append(t.Bars, bar{int(s.x), y + 6, max(int(s.x+s.width)-int(s.x)-1, barWidth), w.class, s.link, printable(w.name) + ": " + w.text})
		for _, e := range w.events {
			if d := s.to.Sub(s.from); d > 0 && !e.at.Before(s.from) && !e.at.After(s.to) {
				at := s.x + s.width*float64(e.at.Sub(s.from))/float64(d)
				t.Ticks = append(t.Ticks, tick{int(at), y + 3, fmt.Sprintf("%s: %s %s", printable(w.name), e.text, exact(e.at))})
			}
		}
	}
}

// axis adds the marks of the parts between breaks. scale is the width of a nanosecond.
func (t *timeline) axis(spans []span, scale float64, w *window) {
	step := stepOfAxis(time.Duration(min(markWidth/scale, longest)))
	free, day := 0, t.From.UTC().YearDay() // where the next text can begin, and the day of the last one
	for i := 0; i < len(spans); i++ {
		if spans[i].gap {
			continue
		}
		first := &spans[i]
		for i+1 < len(spans) && !spans[i+1].gap {
			i++
		}
		for at, end := first.from, spans[i].to; at.Before(end); {
			next := at.Truncate(step).Add(step)
			if next.After(end) {
				next = end
			}
			m := mark{X: int(first.x + scale*float64(at.Sub(first.from)))}
			m.W = int(first.x+scale*float64(next.Sub(first.from))) - m.X
			if m.X >= free && (at.Equal(at.Truncate(step)) || m.W >= markWidth || at.Equal(first.from) && next.Equal(end)) {
				if m.Text, free = clock(at, step), m.X+markWidth; at.UTC().YearDay() != day {
					m.Text, free, day = at.UTC().Format("2 Jan ")+m.Text, free+markWidth/2, at.UTC().YearDay()
				}
			}
			if whole := at.Equal(t.From) && next.Equal(t.To); !whole && next.Sub(at) > time.Millisecond {
				m.Link, m.Why = w.at(at, next), "Zoom to "+clock(at, time.Millisecond)+" to "+clock(next, time.Millisecond)
			}
			t.Marks = append(t.Marks, m)
			at = next
		}
	}
}

// stepOfAxis returns the shortest round time that is at least d.
func stepOfAxis(d time.Duration) time.Duration {
	for step := time.Millisecond; step < time.Minute; step *= 10 {
		for _, n := range []int{1, 2, 5} {
			if s := time.Duration(n) * step; s >= d && s < time.Minute {
				return s
			}
		}
	}
	for _, minutes := range []int{1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720} {
		if s := time.Duration(minutes) * time.Minute; s >= d {
			return s
		}
	}
	const day = 24 * time.Hour
	return (d + day - 1).Truncate(day)
}

// clock returns a time of an axis with a step.
func clock(at time.Time, step time.Duration) string {
	switch at = at.UTC(); {
	case step < time.Second:
		return at.Format("15:04:05.000")
	case step < time.Minute:
		return at.Format("15:04:05")
	}
	return at.Format("15:04")
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
					s.works = append(s.works, work{name: node, class: "ran", text: s.text("ran")})
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

// text returns the text of a bar of the whole span.
func (s *span) text(state string) string {
	return fmt.Sprintf("%s, %s, until %s", state, took(s.to.Sub(s.from)), exact(s.to))
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
		state := w.class
		if t.State != "due" {
			state = t.State
		}
		if t.Then > 0 {
			state += fmt.Sprintf(", attempt %d begins %s", t.Then, ago(now, t.Next))
		}
		if t.Failure != "" {
			state += ", last error: " + clip(shortText, t.Failure)
		}
		w.text = s.text(state)
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

// layOut sets the places and widths of spans, and returns the width of a nanosecond. A pause of
// more than a second that is longer than all work together is a break of a fixed width. The others
// share the rest by their duration.
func layOut(spans []span) (scale float64) {
	var work, total float64 // a sum of durations could overflow
	for _, s := range spans {
		if !s.idle {
			work += float64(s.to.Sub(s.from))
		}
	}
	left := innerWidth
	for i := range spans {
		s := &spans[i]
		d := s.to.Sub(s.from)
		if s.gap = s.idle && work > 0 && float64(d) > work && d > time.Second; s.gap {
			left -= gapWidth
		} else {
			total += float64(d)
		}
	}
	scale = float64(max(left, innerWidth/4)) / max(total, 1)
	x := 0.0
	for i := range spans {
		s := &spans[i]
		if s.x, s.width = x, scale*float64(s.to.Sub(s.from)); s.gap {
			s.width = gapWidth
		}
		x += s.width
	}
	return scale
}
