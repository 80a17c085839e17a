package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/engines/enginetest/internal/work"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// Benchmark measures an engine by BenchmarkDispatch, and by BenchmarkSubmit with 1, 3, 10 and 30
// workers. s must not announce due threads itself.
func Benchmark(b *testing.B, place Place, s checkpoint.Saver) {
	b.Run("dispatch", func(b *testing.B) { BenchmarkDispatch(b, place) })
	b.Run("submit", func(b *testing.B) { BenchmarkSubmit(b, place, s, 1, time.Hour) })
	for _, workers := range []int{3, 10, 30} {
		b.Run(fmt.Sprintf("submit to one of %d workers", workers), func(b *testing.B) { BenchmarkSubmit(b, place, s, workers, time.Hour) })
	}
}

// BenchmarkDispatch measures how long a hint takes from Wake to a listener. It reports the median
// and the 99th percentile.
func BenchmarkDispatch(b *testing.B, place Place) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	arrived := make(chan time.Time, 1)
	sender, receiver := place.Open(b), place.Open(b)
	go func() {
		_ = receiver.Listen(ctx, []string{"orders"}, func(string, string) { arrived <- time.Now() }) // the error is that of ctx
	}()
	<-arrived // it listens
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		wake(b, place, sender, "orders", "t")
		took = append(took, (<-arrived).Sub(began))
	}
	report(b, took, "")
}

// BenchmarkSubmit measures how long a thread takes from Submit to its first node, with workers
// that also poll. It reports the median and the 99th percentile, the median of the call of Submit
// alone, and the polls of all workers for each thread.
func BenchmarkSubmit(b *testing.B, place Place, s checkpoint.Saver, workers int, poll time.Duration) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	began, idle, ran := make(chan time.Time, 1), make(chan struct{}, workers), make(chan struct{}, 1)
	compile := func(s checkpoint.Saver) *graph.Graph[work.State, work.StateUpdate] {
		g := graph.New("orders", work.StateSchema)
		g.Node("run", func(context.Context, work.State) (work.StateUpdate, error) {
			began <- time.Now()
			return work.StateUpdate{}, nil
		})
		g.Edge(graph.Start, "run")
		g.Edge("run", graph.End)
		app, err := g.Compile(graph.Saver(s))
		if err != nil {
			b.Fatal(err)
		}
		return app
	}
	app := compile(worker.Announce(s, place.Open(b), nil))
	polls := &polled{Saver: s}
	ended := make(chan error, workers)
	for range workers {
		e := place.Open(b)
		announced := worker.Announce(polls, e, nil)
		w := worker.New(announced, worker.Options{Engine: e, Poll: poll, OnEvent: func(e worker.Event) {
			switch e.Kind {
			case worker.EventIdle:
				select {
				case idle <- struct{}{}:
				default:
				}
			case worker.EventEnded:
				ran <- struct{}{}
			}
		}}, compile(announced))
		go func() { ended <- w.Run(ctx) }()
	}
	defer func() {
		stop()
		for range workers {
			if err := <-ended; err != nil {
				b.Error(err)
			}
		}
	}()
	for range workers {
		<-idle
	}
	if workers > 1 {
		time.Sleep(5 * time.Second) //nolint:forbidigo // nothing tells when workers of an Engine know each other
	}
	var took, called []time.Duration
	before := polls.n.Load()
	for n := 0; b.Loop(); n++ {
		start := time.Now()
		if _, err := app.Thread(fmt.Sprintf("%d-%d", start.UnixNano(), n)).Submit(ctx, work.StateUpdate{}); err != nil {
			b.Fatal(err)
		}
		called = append(called, time.Since(start))
		took = append(took, (<-began).Sub(start))
		<-ran
		if workers > 1 {
			time.Sleep(50 * time.Millisecond) //nolint:forbidigo // nothing tells that the others do not poll
		}
	}
	b.ReportMetric(float64(polls.n.Load()-before)/float64(b.N), "polls/op")
	report(b, took, "")
	report(b, called, "Submit-")
}

// polled counts the polls of workers.
type polled struct {
	checkpoint.Saver
	n atomic.Int64
}

func (p *polled) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	p.n.Add(1)
	return p.Saver.Ready(ctx, q)
}

// report reports percentiles.
func report(b *testing.B, took []time.Duration, prefix string) {
	b.Helper()
	slices.Sort(took)
	at := func(percent int) float64 {
		return float64(took[(len(took)-1)*percent/100].Nanoseconds()) / 1000
	}
	b.ReportMetric(at(50), prefix+"p50-µs")
	if prefix == "" {
		b.ReportMetric(at(99), "p99-µs")
	}
}
