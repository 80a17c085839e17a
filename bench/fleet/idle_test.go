//go:build unix

package fleet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// many is the number of threads that wait: GRAPHGEN_THREADS, or 20,000.
func many(b *testing.B) int {
	b.Helper()
	text := os.Getenv("GRAPHGEN_THREADS")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// sleeper returns a graph whose threads sleep for a day if the input is a number above zero.
func sleeper(b *testing.B, s checkpoint.Saver) *app {
	b.Helper()
	g := graph.New("sleeper", flow.CounterSchema)
	g.Node("sleep", func(ctx context.Context, s flow.Counter) (flow.CounterUpdate, error) {
		if s.N > 0 {
			return flow.CounterUpdate{}, graph.Sleep(ctx, 24*time.Hour)
		}
		return flow.CounterUpdate{}, nil
	})
	g.Chain(graph.Start, "sleep", graph.End)
	a, err := g.Compile(graph.Saver(s))
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// heap returns the bytes that live objects take.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkWaiting measures Ready, and the memory of a worker that has nothing to do. On SQLite,
// 1,000 threads sleep, and GRAPHGEN_THREADS others wait for a message. The baseline of Ready is
// the same call without threads.
func BenchmarkWaiting(b *testing.B) {
	s, err := sqlite.Open(filepath.Join(b.TempDir(), "threads.db"), sqlite.Synchronous(sqlite.Normal))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() }) // the process ends anyway
	look := func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			ready, err := s.Ready(b.Context(), checkpoint.ReadyQuery{Graphs: []string{"sleeper"}, Limit: 100, Reserve: time.Second})
			if err != nil || len(ready.Threads) != 0 {
				b.Fatal(len(ready.Threads), err)
			}
		}
	}
	b.Run("baseline Ready without threads", look)
	a := sleeper(b, s)
	const sleeping = 1000
	for i := range sleeping {
		var in flow.CounterUpdate
		in.N.Add(1)
		if got, err := a.Thread(fmt.Sprint("sleeps ", i)).Invoke(b.Context(), in); err != nil || got.Status != graph.Waiting {
			b.Fatal(got.Status, err)
		}
	}
	// A thread with a signal and no input waits.
	posts := make([]checkpoint.Post, 0, 500)
	for i, n := 0, many(b); i < n; i++ {
		posts = append(posts, checkpoint.Post{Thread: fmt.Sprint("waits ", i), Graph: "sleeper", Messages: []checkpoint.Message{{
			ID: "signal", Kind: checkpoint.SignalMessage, Name: "event",
		}}})
		if len(posts) == cap(posts) || i == n-1 {
			if _, err := s.Post(b.Context(), posts...); err != nil {
				b.Fatal(err)
			}
			posts = posts[:0]
		}
	}
	b.Run("Ready", look)
	b.Run("worker", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
			w := worker.New(s, worker.Options{Poll: 100 * time.Millisecond}, a)
			var during float64
			time.AfterFunc(2*time.Second, func() { during = heap() })
			if err := w.Run(ctx); err != nil {
				b.Fatal(err)
			}
			cancel()
			b.ReportMetric(during-before, "B-of-a-worker")
		}
	})
}

// BenchmarkMemory measures what a finished thread takes in the memory saver, of GRAPHGEN_THREADS.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		s := memory.New()
		a := sleeper(b, s)
		n, before := many(b), heap()
		for i := range n {
			if _, err := a.Thread(fmt.Sprint(i)).Invoke(b.Context(), flow.CounterUpdate{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric((heap()-before)/float64(n), "B/thread")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
