package worker_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// submitAt submits inputs to new threads of a priority.
func submitAt(tb testing.TB, g *app, p checkpoint.Priority, threads ...string) {
	tb.Helper()
	var all []graph.Submission[JobUpdate]
	for _, id := range threads {
		all = append(all, graph.Submission[JobUpdate]{Thread: id, Options: []graph.SubmitOption{graph.Priority(p)}})
	}
	if _, err := g.SubmitMany(context.Background(), all...); err != nil {
		tb.Fatal(err)
	}
}

// TestAWorkerTakesThreadsByPriority counts runs of both priorities. Threads of high priority are
// submitted last, and must run first.
func TestAWorkerTakesThreadsByPriority(t *testing.T) {
	for _, slots := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			const low, high = 40, 40
			s := memory.New()
			var mu sync.Mutex
			var ran []byte
			g := line(t, "jobs", s, func(ctx context.Context, _ Job) (JobUpdate, error) {
				mu.Lock()
				ran = append(ran, graph.CurrentTask(ctx).Thread[0])
				mu.Unlock()
				time.Sleep(time.Second)
				return JobUpdate{}, nil
			})
			submitAt(t, g, checkpoint.Low, ids("low", low)...)
			time.Sleep(24 * time.Hour) // they are old
			submitAt(t, g, checkpoint.High, ids("high", high)...)
			w := start(t, s, worker.Options{Slots: slots}, g)
			until := func(n int) {
				for len(w.of(worker.EventEnded)) < n {
					time.Sleep(time.Second)
				}
			}
			until(low + high)
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			if lows := bytes.Count(ran[:high], []byte("l")); lows > 0 {
				t.Errorf("with %d slots: %d of the first %d runs were of low priority, want none: %s", slots, lows, high, ran[:high])
			}
		})
	}
}
