package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/internal/graphmodel"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// asked is a graph of two nodes that write fields with the option run. The second one fails while
// broken is true.
func asked(t *testing.T, s checkpoint.Saver, broken *bool, opts ...graph.Option) graph.Thread[graphmodel.State, graphmodel.StateUpdate] {
	t.Helper()
	b := graph.New("asked", graphmodel.StateSchema)
	write := func(name string, peak int64) func(context.Context, graphmodel.State) (graphmodel.StateUpdate, error) {
		return func(context.Context, graphmodel.State) (u graphmodel.StateUpdate, _ error) {
			if *broken && name == "b" {
				return u, errBroken
			}
			u.Turn.Append(name)
			u.Log.Append(name)
			u.Peak.Offer(peak)
			return u, nil
		}
	}
	b.Node("a", write("a", -5))
	b.Node("b", write("b", -7))
	b.Chain(graph.Start, "a", "b", graph.End)
	g, err := b.Compile(append(opts, graph.Saver(s))...)
	if err != nil {
		t.Fatal(err)
	}
	return g.Thread("t")
}

// question is an input that writes a field with the option run.
func question(text string) graphmodel.StateUpdate {
	return state.Build(func(u *graphmodel.StateUpdate) { u.Turn.Append(text) })
}

// shownTurn returns the fields of the current input, and the length of the log of all inputs.
func shownTurn(s graphmodel.State) string { return fmt.Sprint(s.Turn, s.Peak, len(s.Log)) }

// TestAFieldOfARunLastsUntilTheNextInput (rule 4.4): it survives a failure and the resume by
// another process. The next input clears it and merges after that, whether the state is kept in
// memory or read. An edit, a replay and a fork keep it.
func TestAFieldOfARunLastsUntilTheNextInput(t *testing.T) {
	for _, name := range []string{"kept in memory", "read"} {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				opts := []graph.Option{d}
				if name == "read" {
					opts = append(opts, graph.HotThreads(0))
				}
				s, broken := memory.New(), true
				if _, err := asked(t, s, &broken, opts...).Invoke(t.Context(), question("one")); err == nil {
					t.Fatal("got no error, want that of the node")
				}
				broken = false
				th := asked(t, s, &broken, opts...)
				res, err := th.Resume(t.Context())
				same(t, "after the resume", fmt.Sprint(shownTurn(res.State), err), "[one a b] -5 2<nil>")
				first := res.Checkpoint
				for turn := range 3 {
					res, err = th.Invoke(t.Context(), question("two"))
					same(t, "after an input", fmt.Sprint(shownTurn(res.State), err), fmt.Sprint("[two a b] -5 ", 4+2*turn, "<nil>"))
				}
				snap, err := asked(t, s, &broken, opts...).State(t.Context())
				same(t, "stored", fmt.Sprint(shownTurn(snap.State), err), "[two a b] -5 8<nil>")
				if _, err := th.UpdateState(t.Context(), question("edit")); err != nil {
					t.Fatal(err)
				}
				snap, err = th.State(t.Context())
				same(t, "after an edit", fmt.Sprint(shownTurn(snap.State), err), "[two a b edit] -5 8<nil>")
				if _, err := th.At(first).UpdateState(t.Context(), question("fork")); err != nil {
					t.Fatal(err)
				}
				snap, err = th.State(t.Context())
				same(t, "after a fork", fmt.Sprint(shownTurn(snap.State), err), "[one a b fork] -5 2<nil>")
				res, err = th.Invoke(t.Context(), graphmodel.StateUpdate{})
				same(t, "after an empty input", fmt.Sprint(shownTurn(res.State), err), "[a b] -5 4<nil>")
			})
		})
	}
}

// TestARouteFromStartSeesTheFieldsOfItsInput stores the input before it is merged.
func TestARouteFromStartSeesTheFieldsOfItsInput(t *testing.T) {
	b := graph.New("routed", graphmodel.StateSchema)
	var seen []string
	b.Node("a", func(context.Context, graphmodel.State) (u graphmodel.StateUpdate, _ error) {
		u.Turn.Append("a")
		return u, nil
	})
	b.Route(graph.Start, func(_ context.Context, s graphmodel.State) (graph.Next, error) {
		seen = append(seen, fmt.Sprint(s.Turn))
		return graph.To("a"), nil
	}, "a")
	b.Edge("a", graph.End)
	g, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if _, err := g.Thread("t").Invoke(t.Context(), question(text)); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "seen by the route", seen, []string{"[one]", "[two]"})
}
