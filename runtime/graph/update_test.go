package graph_test

import (
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

func TestAnUpdateIsAsOneNode(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("a"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	_, err := th.UpdateState(t.Context(), input, graph.AsNode("a"), graph.AsNode("b"))
	if want := `AsNode names "a" and "b"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("as two nodes: got %v, want an error that contains %s", err, want)
	}
	_, err = th.UpdateState(t.Context(), input, graph.DiscardPending())
	if want := `DiscardPending without AsNode`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an edit that drops: got %v, want an error that contains %s", err, want)
	}
	_, err = th.UpdateState(t.Context(), input, graph.AsNode(""))
	if want := `no node ""`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("as a node without a name: got %v, want an error that contains %s", err, want)
	}
}
