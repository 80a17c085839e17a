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
