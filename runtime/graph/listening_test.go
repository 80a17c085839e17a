package graph_test

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// TestListening is true only under a stream that chose what nodes emit, also in a subgraph.
func TestListening(t *testing.T) {
	var heard []bool
	var kept context.Context
	child := newWork()
	child.Node("tell", func(ctx context.Context, _ work) (update, error) {
		heard, kept = append(heard, graph.Listening(ctx)), ctx //graphvet:ignore graphkeep the test uses it after the node
		return update{}, nil
	})
	child.Chain(graph.Start, "tell", graph.End)
	b := newWork()
	b.Subgraph("sub", compile(t, child, graph.SubgraphOnly()))
	b.Chain(graph.Start, "sub", graph.End)
	for _, c := range []struct {
		what string
		g    *app
	}{{"in a node", compile(t, child)}, {"in a subgraph", compile(t, b)}} {
		heard = nil
		done(t, graph.Done)(c.g.Run(t.Context(), input))
		for _, kinds := range []graph.EventKind{graph.EventTaskStarted, graph.EventCustom | graph.EventTaskStarted} {
			for _, err := range c.g.Stream(t.Context(), input, graph.Events(kinds)) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		same(t, c.what, heard, []bool{false, false, true})
	}
	same(t, "after the node", graph.Listening(kept), false)
	same(t, "outside", graph.Listening(t.Context()), false)
}
