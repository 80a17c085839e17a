package graph_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestARunWaitsForWorkThatAnInterceptorLeaves: an interceptor starts next on another goroutine and
// panics, or ends its own goroutine. The run waits for the work, by rule 11.3.
func TestARunWaitsForWorkThatAnInterceptorLeaves(t *testing.T) {
	ends := map[string]func(){"panic": func() { panic("bang") }, "Goexit": runtime.Goexit}
	for name, end := range ends {
		for kind, in := range leavers(end) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					open := 0 // without a lock: the race detector sees work that nobody waits for
					busy := func() {
						open++
						time.Sleep(time.Hour)
						open--
					}
					b := newWork()
					b.Node("n", func(context.Context, work) (update, error) { busy(); return update{}, nil })
					b.Node("m", say("m"))
					b.Edge(graph.Start, "n")
					b.Edge(graph.Start, "m")
					b.Edge("m", graph.End)
					b.Route("n", func(context.Context, work) (graph.Next, error) { busy(); return graph.To(graph.End), nil }, graph.End)
					g := compile(t, b, graph.Saver(memory.New()), graph.Intercept(in))
					err, returned := errors.New("no call"), make(chan struct{})
					go func() {
						defer close(returned)
						_, err = g.Thread("t").Invoke(t.Context(), input)
					}()
					<-returned
					if open != 0 {
						t.Errorf("Invoke has returned, and %d calls are in progress", open)
					}
					var bang *graph.PanicError
					if name == "panic" && (!errors.As(err, &bang) || bang.Value != "bang") {
						t.Errorf("got %v, want the panic", err)
					}
				})
			})
		}
	}
}

// leavers are interceptors that start their work on another goroutine and call end meanwhile.
func leavers(end func()) map[string]graph.Interceptor {
	return map[string]graph.Interceptor{
		"run": {Run: func(ctx context.Context, _ graph.RunInfo, next func(context.Context) (graph.Status, error)) error {
			return leave(ctx, next, end)
		}},
		"step": {Step: func(ctx context.Context, _ graph.StepInfo, next func(context.Context) (graph.Status, error)) error {
			return leave(ctx, next, end)
		}},
		"task": {Task: func(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
			if i.Node == "m" {
				_, err := next(ctx)
				return err
			}
			return leave(ctx, next, end)
		}},
		"route": {Route: func(ctx context.Context, _ graph.RouteInfo, next func(context.Context) ([]graph.ID, error)) error {
			return leave(ctx, next, end)
		}},
	}
}

// leave starts next on another goroutine, and calls end when the work has begun.
func leave[T any](ctx context.Context, next func(context.Context) (T, error), end func()) error {
	go func() { _, _ = next(ctx) }()
	time.Sleep(time.Minute) // of the bubble: the work takes an hour
	end()
	return nil
}
