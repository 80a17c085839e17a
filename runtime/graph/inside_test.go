package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func TestStateAndHistoryShowTheTree(t *testing.T) {
	deep := compilePair(t, asking(nil))
	middle := nest(t, deep)
	th, _ := newThread(t, around(t, nil, middle))
	res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Calls) != 1 || snap.Calls[0].Node != "sub" {
		t.Fatalf("got calls %v, want that of sub", snap.Calls)
	}
	in := graph.Inside(th, snap.Calls[0], middle)
	inner, err := in.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "due in sub", inner.Next, []graph.ID{"deep"})
	same(t, "asked in sub", inner.Questions, res.Questions)
	bottom, err := graph.Inside(in, inner.Calls[0], deep).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "state in deep", bottom.State, pair{Foo: "given 1", Bar: []string{"a"}})
	same(t, "due in deep", bottom.Next, []graph.ID{"ask"})
	same(t, "asked in deep", bottom.Questions, res.Questions)
	same(t, "status", bottom.Status, checkpoint.Waiting)

	done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 7)))
	var tree []string
	for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		tree = append(tree, fmt.Sprint(snap.Step, snap.Next))
		for _, call := range snap.Calls {
			in := graph.Inside(th, call, middle)
			for snap, err := range in.History(t.Context(), checkpoint.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				tree = append(tree, fmt.Sprint("  ", snap.Step, snap.Next))
				for _, call := range snap.Calls {
					for snap, err := range graph.Inside(in, call, deep).History(t.Context(), checkpoint.Query{}) {
						if err != nil {
							t.Fatal(err)
						}
						tree = append(tree, fmt.Sprint("    ", snap.Step, snap.Next, snap.State.Bar))
					}
				}
			}
		}
	}
	same(t, "tree", strings.Join(tree, "\n"), strings.Join([]string{
		"4 []", "3 [after]", "2 [sibling sub]", "  2 []", "  1 [deep]",
		"    4 [] [a b]", "    3 [b] [a]", "    2 [ask] [a]", "    1 [a] []",
		"1 [before]", "0 [Start]",
	}, "\n"))
}

func TestInsideOnlyShows(t *testing.T) {
	child := compilePair(t, pairs(nil, "a"))
	th, _ := newThread(t, around(t, nil, child))
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	in := graph.Inside(th, graph.SubgraphCall{Node: "sub", Namespace: "nowhere"}, child)
	if _, err := in.State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("State of a call that never was: got %v, want ErrNotFound", err)
	}
	for snap, err := range in.History(t.Context(), checkpoint.Query{}) {
		t.Errorf("History of a call that never was: got %v, %v, want none", snap, err)
	}
	if _, err := in.Invoke(t.Context(), pairUpdate{}); !errors.Is(err, graph.ErrInside) {
		t.Errorf("Invoke: got %v, want ErrInside", err)
	}
	if _, err := in.Resume(t.Context()); !errors.Is(err, graph.ErrInside) {
		t.Errorf("Resume: got %v, want ErrInside", err)
	}
	if _, err := in.UpdateState(t.Context(), pairUpdate{}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("UpdateState of a call that never was: got %v, want ErrNotFound", err)
	}
	if _, err := in.Release(t.Context()); !errors.Is(err, graph.ErrInside) {
		t.Errorf("Release: got %v, want ErrInside", err)
	}
	var none graph.Thread[work, update]
	if _, err := graph.Inside(none, graph.SubgraphCall{Namespace: "x"}, child).State(t.Context()); err == nil {
		t.Error("State of a zero Thread's inside: got no error")
	}
}
