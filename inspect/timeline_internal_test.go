package inspect

import (
	"testing"
	"time"
)

// TestBarsHaveTheProportionsOfTheirTimes lays out a pause between works, short and long.
func TestBarsHaveTheProportionsOfTheirTimes(t *testing.T) {
	for _, c := range []struct {
		pause time.Duration
		gap   bool
	}{{25 * time.Second, false}, {10 * time.Minute, true}} {
		var now time.Time
		var spans []span
		for i, d := range []time.Duration{time.Minute, c.pause, 55 * time.Millisecond} {
			spans = append(spans, span{from: now, to: now.Add(d), idle: i == 1})
			now = now.Add(d)
		}
		layOut(spans)
		long, pause, short := spans[0].width, spans[1].width, spans[2].width
		if short >= pause || pause >= long || spans[1].gap != c.gap || !c.gap && pause < long/3 {
			t.Errorf("a pause of %s: got the widths %.0f, %.0f and %.0f, a break: %t", c.pause, long, pause, short, spans[1].gap)
		}
	}
}

// TestTheAxisOfCenturiesHasFewMarks: an import can bring records of any time.
func TestTheAxisOfCenturiesHasFewMarks(t *testing.T) {
	at := time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, n := range []int{1, 2, 3, 20} {
		spans := make([]span, n)
		for i := range spans {
			spans[i] = span{from: at.AddDate(250*i, 0, 0), to: at.AddDate(250*(i+1), 0, 0)}
		}
		scale := layOut(spans)
		if last := spans[n-1]; last.x+last.width > 2*innerWidth || last.x < 0 {
			t.Fatalf("%d spans: the last one is at %f, %f wide", n, last.x, last.width)
		}
		w, line := window{link: func(...string) string { return "" }}, timeline{From: spans[0].from, To: spans[n-1].to}
		if line.axis(spans, scale, &w); len(line.Marks) == 0 || len(line.Marks) > 100 {
			t.Errorf("%d spans: got %d marks", n, len(line.Marks))
		}
	}
}
