package enginetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/engines/enginetest/internal/work"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// Benchmark measures an engine by BenchmarkDispatch and BenchmarkSubmit. s must not announce due
// threads itself.
func Benchmark(b *testing.B, place Place, s checkpoint.Saver) {
	b.Run("dispatch", func(b *testing.B) { BenchmarkDispatch(b, place) })
	b.Run("submit", func(b *testing.B) { BenchmarkSubmit(b, place, s, time.Hour) })
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

// BenchmarkSubmit measures how long a thread takes from Submit to its first node, with a worker
// that also polls. It reports the median and the 99th percentile, and the median of the call of
// Submit alone.
func BenchmarkSubmit(b *testing.B, place Place, s checkpoint.Saver, poll time.Duration) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	began, idle := make(chan time.Time, 1), make(chan struct{}, 1)
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
	e := place.Open(b)
	w := worker.New(s, worker.Options{Engine: e, Poll: poll, OnEvent: func(e worker.Event) {
		if e.Kind == worker.EventIdle {
			select {
			case idle <- struct{}{}:
			default:
			}
		}
	}}, compile(s))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	<-idle
	var took, called []time.Duration
	for n := 0; b.Loop(); n++ {
		start := time.Now()
		if _, err := app.Thread(fmt.Sprintf("%d-%d", start.UnixNano(), n)).Submit(ctx, work.StateUpdate{}); err != nil {
			b.Fatal(err)
		}
		called = append(called, time.Since(start))
		took = append(took, (<-began).Sub(start))
		<-idle
	}
	report(b, took, "")
	report(b, called, "Submit-")
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
