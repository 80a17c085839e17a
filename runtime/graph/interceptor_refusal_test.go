package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestAPanicOfAnInterceptorIsAnErrorOfTheWork proves rule 24.4 for each function.
func TestAPanicOfAnInterceptorIsAnErrorOfTheWork(t *testing.T) {
	for name, in := range map[string]graph.Interceptor{
		"run": {Run: func(context.Context, graph.RunInfo, func(context.Context) (graph.Status, error)) error {
			panic("bang")
		}},
		"step": {Step: func(ctx context.Context, _ graph.StepInfo, next func(context.Context) (graph.Status, error)) error {
			panic("bang")
		}},
		"task": {Task: func(context.Context, graph.TaskInfo, func(context.Context) (graph.Outcome, error)) error {
			panic("bang")
		}},
		"route": {Route: func(context.Context, graph.RouteInfo, func(context.Context) ([]graph.ID, error)) error {
			panic("bang")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newWork()
			b.Node("a", func(context.Context, work) (update, error) { return update{}, nil })
			b.Edge(graph.Start, "a")
			b.Route("a", choose(graph.End), graph.End)
			g := compile(t, b, graph.Saver(memory.New()), graph.Intercept(in))
			_, err := g.Thread("t").Invoke(t.Context(), input)
			var bang *graph.PanicError
			if !errors.As(err, &bang) || bang.Value != "bang" {
				t.Errorf("got %v, want the panic", err)
			}
		})
	}
}

// TestARefusalOfATaskIsRetried proves rule 24.5: a refusal is the error of an attempt.
func TestARefusalOfATaskIsRetried(t *testing.T) {
	var attempts []int
	ran := 0
	b := newWork()
	b.Node("n", func(context.Context, work) (update, error) { ran++; return update{}, nil },
		graph.Retry(graph.RetryPolicy{Attempts: 3, Base: 1}))
	th, _ := newThread(t, line(b, "n"), taskOnly(
		func(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
			if attempts = append(attempts, i.Attempt); i.Attempt < 3 {
				return errRefused
			}
			_, err := next(ctx)
			return err
		}))
	if _, err := th.Invoke(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	same(t, "attempts", attempts, []int{1, 2, 3})
	if ran != 1 {
		t.Errorf("the node ran %d times, want once", ran)
	}
}
