package graph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestACallThatSkipsAnInnerSubgraphKeepsItsMemory calls a subgraph that remembers three times in
// one run. In it another one remembers, which the second call does not run.
func TestACallThatSkipsAnInnerSubgraphKeepsItsMemory(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.OnExit} {
		t.Run(d.String(), func(t *testing.T) {
			inner := graph.New("inner", teststate.WorkSchema)
			inner.Node("count", func(_ context.Context, s work) (update, error) {
				return update{Log: state.Append(fmt.Sprint("inner call ", len(s.Log)))}, nil
			})
			line(inner, "count")

			middle := graph.New("middle", teststate.WorkSchema)
			graph.MapSubgraph(middle, "inner", nested(t, inner),
				func(context.Context, work) (update, error) { return update{}, nil },
				func(_ context.Context, _, child work) (update, error) {
					return update{Log: state.Append(child.Log[len(child.Log)-1])}, nil
				}, graph.Stateful())
			middle.Node("skip", step(nil, "skipped"))
			middle.Route(graph.Start, func(_ context.Context, s work) (graph.Next, error) {
				if s.Log[len(s.Log)-1] == "call 1" {
					return graph.To("skip"), nil
				}
				return graph.To("inner"), nil
			}, "inner", "skip")
			middle.Edge("inner", graph.End)
			middle.Edge("skip", graph.End)

			outer := graph.New("outer", teststate.WorkSchema)
			graph.MapSubgraph(outer, "middle", nested(t, middle),
				func(_ context.Context, s work) (update, error) {
					return update{Log: state.Append(fmt.Sprint("call ", len(s.Log)))}, nil
				},
				func(_ context.Context, _, child work) (update, error) {
					return update{Log: state.Append(child.Log[len(child.Log)-1])}, nil
				}, graph.Stateful())
			outer.Edge(graph.Start, "middle")
			outer.Route("middle", func(_ context.Context, s work) (graph.Next, error) {
				if len(s.Log) < 3 {
					return graph.To("middle"), nil
				}
				return graph.To(graph.End), nil
			}, "middle", graph.End)
			app, err := outer.Compile(graph.Saver(memory.New()), d)
			if err != nil {
				t.Fatal(err)
			}
			res, err := app.Thread("t").Invoke(t.Context(), update{})
			want := []string{"inner call 0", "skipped", "inner call 1"}
			if err != nil || !slices.Equal(res.State.Log, want) {
				t.Errorf("got %q, %v; want %q", res.State.Log, err, want)
			}
		})
	}
}

// nested compiles a graph that becomes a subgraph.
func nested(t *testing.T, b *graph.Builder[work, update]) *graph.Graph[work, update] {
	t.Helper()
	g, err := b.Compile(graph.SubgraphOnly())
	if err != nil {
		t.Fatal(err)
	}
	return g
}
