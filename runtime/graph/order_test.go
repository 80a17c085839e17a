package graph_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// inOrder is a graph whose nodes after Start are declared in the given order and log their names.
func inOrder(nodes ...graph.ID) *graph.Builder[work, update] {
	b := newWork()
	for _, id := range nodes {
		b.Node(id, say(string(id)))
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	return b
}

// TestAResumedRunKeepsTheStoredOrder of its tasks (rule 2.2), although their nodes are declared in
// another order since.
func TestAResumedRunKeepsTheStoredOrder(t *testing.T) {
	th, s := newThread(t, inOrder("a", "b", "c"), graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	later := compile(t, inOrder("c", "a", "b"), graph.Saver(s)).Thread("t")
	res := done(t, graph.Done)(later.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "b", "c"})
}
