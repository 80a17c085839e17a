package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// timeline draws when nodes ran, and when the thread waited. Its axis is compressed: a long pause
// has the same width as any other.
type timeline struct {
	Width, Height int
	Rows          []lineRow
	Bars          []bar
	Gaps          []gap
	From, To      time.Time
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
	nodes    []string
	class    string
	link     string
	width    int
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
		for _, node := range s.nodes {
			y, ok := lines[node]
			if !ok {
				if len(t.Rows) == maxLineRows {
					continue
				}
				y = len(t.Rows) * lineHeight
				lines[node] = y
				t.Rows = append(t.Rows, lineRow{node, y + lineHeight - 8})
			}
			text := fmt.Sprintf("%s: %s, %s, until %s", printable(node), s.class, took(s.to.Sub(s.from)), exact(s.to))
			t.Bars = append(t.Bars, bar{x, y + 6, max(s.width-2, barWidth), s.class, s.link, text})
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
				s.nodes, s.class, s.link = rec.Ran, "ran", v.at(rec.ID).link("checkpoint")
			}
			spans = append(spans, s)
		}
		last = rec
	}
	if last == nil || last.ID != v.chain.Head || !v.chain.Unfinished() || !now.After(last.Created) {
		return spans
	}
	s := span{from: last.Created, to: now, class: "waiting", idle: v.thread.Holder == ""}
	switch {
	case !s.idle:
		s.class = "running"
	case v.snap.Status == checkpoint.Failed:
		s.class = "failed"
	}
	for _, t := range v.snap.Tasks {
		if !t.Finished && !slices.Contains(s.nodes, string(t.Node)) {
			s.nodes = append(s.nodes, string(t.Node))
		}
	}
	return append(spans, s)
}

// layOut sets the widths of spans. A pause that is longer than all work together gets a fixed
// width. The others share the rest by their duration.
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
		if d := s.to.Sub(s.from); s.idle && d > work/10 && d > time.Second {
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
