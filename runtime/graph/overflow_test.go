package graph_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

func adding(n int) func(context.Context, work) (update, error) {
	return func(context.Context, work) (update, error) { return update{Count: state.Add(n)}, nil }
}

func TestASumThatDoesNotFitNamesItsFieldAndNodes(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		half := math.MaxInt/2 + 1
		build := func(b int) *graph.Builder[work, update] {
			g := newWork()
			g.Node("a", adding(half))
			g.Node("aside", say("aside"))
			g.Node("b", adding(b))
			for _, id := range []graph.ID{"a", "aside", "b"} {
				g.Edge(graph.Start, id)
				g.Edge(id, graph.End)
			}
			return g
		}
		th, s := newThread(t, build(half), d)
		_, err := th.Invoke(t.Context(), input)
		var over *graph.OverflowError
		var inner *state.OverflowError
		if !errors.As(err, &over) || !errors.As(err, &inner) {
			t.Fatalf("got %v, want an *OverflowError", err)
		}
		same(t, "field", over.Field, "Count")
		same(t, "nodes", over.Nodes, []graph.ID{"a", "b"})
		if text := err.Error(); !strings.Contains(text, `Count by node "a" and node "b"`) || !strings.Contains(text, "type int;") {
			t.Errorf("got %q, want the field, its type and both nodes", text)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "stored", snap.State.Count, 1)
		mended := compile(t, build(1), graph.Saver(s), d).Thread("t")
		res := done(t, graph.Done)(mended.Resume(t.Context(), graph.Rerun("b")))
		same(t, "after the node is mended", res.State.Count, half+2)
	})
}

func TestASumThatDoesNotFitInASubgraph(t *testing.T) {
	child := newWork()
	child.Node("c", adding(math.MaxInt))
	child.Edge(graph.Start, "c")
	child.Edge("c", graph.End)
	b := newWork()
	b.Node("a", adding(math.MaxInt-1))
	b.Subgraph("sub", compile(t, child, graph.SubgraphOnly()))
	for _, id := range []graph.ID{"a", "sub"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	_, err := compile(t, b).Run(t.Context(), update{})
	var over *graph.OverflowError
	if !errors.As(err, &over) {
		t.Fatalf("got %v, want an *OverflowError", err)
	}
	same(t, "nodes", over.Nodes, []graph.ID{"a", "sub"})
}
