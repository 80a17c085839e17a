package graph_test

import (
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func TestReleaseTakesOnlyOptionsThatHaveAnEffect(t *testing.T) {
	for name, o := range map[string]struct {
		option graph.UpdateOption
		want   bool
	}{
		"AsNode":         {graph.AsNode("a"), false},
		"DiscardPending": {graph.DiscardPending(), false},
		"TakeOver":       {graph.TakeOver(), false},
		"Wait":           {graph.Wait(), true},
		"IfHead":         {graph.IfHead(checkpoint.ID{}), true},
	} {
		if _, got := o.option.(graph.ReleaseOption); got != o.want {
			t.Errorf("%s is an option of Release: got %v, want %v", name, got, o.want)
		}
	}
}

func TestAnUpdateIsAsOneNode(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("a"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	_, err := th.UpdateState(t.Context(), input, graph.AsNode("a"), graph.AsNode("b"))
	if want := `AsNode names "a" and "b"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("as two nodes: got %v, want an error that contains %s", err, want)
	}
	_, err = th.UpdateState(t.Context(), input, graph.AsNode(""))
	if want := `no node ""`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("as a node without a name: got %v, want an error that contains %s", err, want)
	}
}
