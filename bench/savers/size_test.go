package savers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

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

// BenchmarkStored counts what each of 2,000 finished threads takes, with headers, indexes and a
// message of 200 bytes for each step.
func BenchmarkStored(b *testing.B) {
	const threads = 2000
	for _, where := range venues {
		if !slices.Contains([]string{"file", "sqlite", "redis", "mysql", "postgres"}, where.name) {
			continue
		}
		for _, steps := range []int{1, 10} {
			b.Run(fmt.Sprint(where.name, "/", steps), func(b *testing.B) {
				for b.Loop() {
					v := where.open(b)
					before := must(v.stored())(b)
					crowd(b, v.saver, "t", threads, steps, graph.Sync)
					b.ReportMetric(float64(must(v.stored())(b)-before)/threads, "B/thread")
				}
			})
		}
	}
}
