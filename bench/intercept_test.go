package bench

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// pass are interceptors that only call next.
var (
	passTask = func(ctx context.Context, _ graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
		_, err := next(ctx)
		return err
	}
	passStep = func(ctx context.Context, _ graph.StepInfo, next func(context.Context) (graph.Status, error)) error {
		_, err := next(ctx)
		return err
	}
)

// BenchmarkIntercept is the chain with interceptors, with a log that drops all events, and with a
// stream. One op is a run of 100 steps.
func BenchmarkIntercept(b *testing.B) {
	ctx := context.Background()
	dropped := slog.New(slog.DiscardHandler)
	for _, c := range []struct {
		name string
		opts []graph.Option
	}{
		{"baseline without", nil},
		{"one Task", []graph.Option{graph.Intercept(graph.Interceptor{Task: passTask})}},
		{"three Tasks", []graph.Option{graph.Intercept(graph.Interceptor{Task: passTask}, graph.Interceptor{Task: passTask}, graph.Interceptor{Task: passTask})}},
		{"one Task and Step", []graph.Option{graph.Intercept(graph.Interceptor{Task: passTask, Step: passStep})}},
		{"Log without output", []graph.Option{graph.Log(dropped)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			app := compile(b, row(), c.opts...)
			b.ReportAllocs()
			for b.Loop() {
				if res, err := app.Run(ctx, flow.CounterUpdate{}); err != nil || res.State.N != width {
					b.Fatal(res.State.N, err)
				}
			}
			perStep(b)
		})
	}
}

var errFlaky = errors.New("flaky")

// BenchmarkRetries runs a node whose first two attempts fail, without a stream and with one that
// gets the retries. One op is a run.
func BenchmarkRetries(b *testing.B) {
	attempts := 0
	g := graph.New("retries", flow.CounterSchema)
	g.Node("flaky", func(ctx context.Context, c flow.Counter) (flow.CounterUpdate, error) {
		if attempts++; attempts%3 != 0 {
			return flow.CounterUpdate{}, errFlaky
		}
		return count(ctx, c)
	}, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: time.Nanosecond}))
	g.Edge(graph.Start, "flaky")
	g.Edge("flaky", graph.End)
	app := compile(b, g)
	ctx := context.Background()
	b.Run("baseline run", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := app.Run(ctx, flow.CounterUpdate{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stream of retries", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			retries := 0
			for e, err := range app.Stream(ctx, flow.CounterUpdate{}, graph.Events(graph.EventTaskRetry)) {
				if err != nil {
					b.Fatal(err)
				}
				if e.Kind == graph.EventTaskRetry {
					retries++
				}
			}
			if retries != 2 {
				b.Fatal(retries)
			}
		}
	})
}
