package savers_test

import "testing"

// TestMessagesTakeLittleRoom runs a graph that appends a message of 200 bytes a step. It counts
// the growth of all files, headers and snapshots included.
func TestMessagesTakeLittleRoom(t *testing.T) {
	const steps, size = 1000, 200
	for _, where := range venues {
		limit, limited := sizeLimits[where.name]
		if !limited {
			continue
		}
		t.Run(where.name, func(t *testing.T) {
			v := where.open(t)
			before := must(v.stored())(t)
			talk(t, v.saver, "talk", steps)
			got := float64(must(v.stored())(t)-before) / (steps * size)
			t.Logf("%.2f times the messages", got)
			if got > limit {
				t.Errorf("%.2f times the messages, want at most %.2f", got, limit)
			}
		})
	}
}
