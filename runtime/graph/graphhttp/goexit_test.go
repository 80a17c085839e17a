package graphhttp_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A route that ends its goroutine takes the run with it, but neither who started it nor who follows it.
func TestARouteThatEndsItsGoroutineEndsTheRun(t *testing.T) {
	for _, from := range []graph.ID{graph.Start, "a"} {
		b := graph.New("work", teststate.WorkSchema)
		b.Node("a", say("a").f)
		b.Route(from, func(context.Context, work) (graph.Next, error) {
			runtime.Goexit()
			return graph.Next{}, nil
		}, "a", graph.End)
		if from == graph.Start {
			b.Edge("a", graph.End)
		} else {
			b.Edge(graph.Start, "a")
		}
		a, err := b.Compile(graph.Saver(memory.New()))
		if err != nil {
			t.Fatal(err)
		}
		h := newHub(a)
		base := serve(t, a, h)
		if from == graph.Start {
			if err := h.Invoke(t.Context(), "t", logged("in")); !errors.Is(err, graph.ErrGoexit) {
				t.Errorf("got %v, want ErrGoexit", err)
			}
		} else if err := h.Invoke(t.Context(), "t", logged("in")); err != nil {
			t.Fatal(err)
		}
		words := open(t, "GET", base+"/t", "").rest()
		want := []string{"checkpoint 1 in next [a]", `end paused: graphhttp: thread "t": the run failed`}
		if from == graph.Start {
			want = want[1:]
		}
		same(t, "events", words, want)
	}
}
