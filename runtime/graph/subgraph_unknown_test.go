package graph_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// newer makes the messages in subgraphs' checkpoints have a field that the code does not have.
type newer struct{ checkpoint.Saver }

func (s newer) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := s.Saver.Load(ctx, p)
	if p.Namespace == "" {
		return c, err
	}
	change := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\xa4Role"), []byte("\xa4Rank")) }
	c.Snapshot = change(c.Snapshot)
	for i := range c.Deltas {
		c.Deltas[i] = change(c.Deltas[i])
	}
	return c, err
}

func TestSubgraphsDropWhatTheirParentDrops(t *testing.T) {
	inner := graph.New("inner", ref.EverythingSchema)
	inner.Node("a", func(context.Context, ref.Everything) (ref.EverythingUpdate, error) {
		var u ref.EverythingUpdate
		u.Messages.Upsert(ref.Message{ID: "1", Role: "user"})
		return u, nil
	})
	inner.Node("b", func(context.Context, ref.Everything) (ref.EverythingUpdate, error) {
		return ref.EverythingUpdate{}, nil
	})
	inner.Edge(graph.Start, "a")
	inner.Edge("a", "b")
	inner.Edge("b", graph.End)
	child, err := inner.Compile(graph.SubgraphOnly(), graph.InterruptBefore("b"))
	if err != nil {
		t.Fatal(err)
	}
	b := newWork()
	graph.MapSubgraph(b, "sub", child,
		func(context.Context, work) (ref.EverythingUpdate, error) { return ref.EverythingUpdate{}, nil },
		func(_ context.Context, _ work, s ref.Everything) (update, error) {
			return logged(s.Messages[0].ID + " " + string(s.Messages[0].Role)), nil
		})
	b.Edge(graph.Start, "sub")
	b.Edge("sub", graph.End)
	s := memory.New()
	done(t, graph.Paused)(compile(t, b, graph.Saver(s)).Thread("t").Invoke(t.Context(), input))

	if err := checkpoint.Copy(t.Context(), s, "t", 0, s, "copy"); err != nil {
		t.Fatal(err)
	}
	app := compile(t, b, graph.Saver(newer{s}))
	if _, err := app.Thread("copy").Resume(t.Context()); !errors.Is(err, graph.ErrGraphChanged) {
		t.Fatalf("got %v, want ErrGraphChanged", err)
	}
	th := app.Thread("t")
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Inside(th, snap.Calls[0], child).State(t.Context()); !errors.Is(err, graph.ErrGraphChanged) {
		t.Fatalf("inside: got %v, want ErrGraphChanged", err)
	}
	th = compile(t, b, graph.Saver(newer{s}), graph.DropUnknownFields()).Thread("t")
	in, err := graph.Inside(th, snap.Calls[0], child).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "inside", in.State.Messages, []ref.Message{{ID: "1"}})
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"1 "})
}

// TestSubgraphsOverTheSameStateDropWhatTheirParentDrops: what a subgraph dropped of its own copy
// is still there in the state around it.
func TestSubgraphsOverTheSameStateDropWhatTheirParentDrops(t *testing.T) {
	var seen []ref.Message
	node := func(s ref.Everything) (u ref.EverythingUpdate, err error) {
		seen = s.Messages
		return u, nil
	}
	inner := graph.New("inner", ref.EverythingSchema)
	inner.Node("a", func(_ context.Context, s ref.Everything) (ref.EverythingUpdate, error) { return node(s) })
	inner.Node("b", func(_ context.Context, s ref.Everything) (ref.EverythingUpdate, error) { return node(s) })
	inner.Edge(graph.Start, "a")
	inner.Edge("a", "b")
	inner.Edge("b", graph.End)
	child, err := inner.Compile(graph.SubgraphOnly(), graph.InterruptBefore("b"))
	if err != nil {
		t.Fatal(err)
	}
	on := func(s checkpoint.Saver, opts ...graph.Option) graph.Thread[ref.Everything, ref.EverythingUpdate] {
		b := graph.New("outer", ref.EverythingSchema)
		b.Subgraph("sub", child)
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
		app, err := b.Compile(append(opts, graph.Saver(s))...)
		if err != nil {
			t.Fatal(err)
		}
		return app.Thread("t")
	}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		var in ref.EverythingUpdate
		in.Messages.Upsert(ref.Message{ID: "1", Role: "user"})
		if _, err := on(s, d).Invoke(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if _, err := on(newer{s}, d).Resume(t.Context()); !errors.Is(err, graph.ErrGraphChanged) {
			t.Fatalf("got %v, want ErrGraphChanged", err)
		}
		res, err := on(newer{s}, d, graph.DropUnknownFields()).Resume(t.Context())
		if err != nil || res.Status != graph.Done {
			t.Fatalf("got %s, %v; want it finished", res.Status, err)
		}
		same(t, "seen in the subgraph", seen, []ref.Message{{ID: "1"}})
		same(t, "in the state around it", res.State.Messages, []ref.Message{{ID: "1", Role: "user"}})
	})
}

// release is a graph as two releases of the code have it: over Pair, and over WiderPair, which has
// one more field. A subgraph of a, b and c over the same state is between begin and end, and stops
// before b and before c. The function does returns the update of each node.
func release[S, U any](t *testing.T, schema *state.Schema[S, U], does func(node graph.ID, s S) U, s checkpoint.Saver, opts ...graph.Option) graph.Thread[S, U] {
	t.Helper()
	chain := func(b *graph.Builder[S, U], ids ...graph.ID) *graph.Builder[S, U] {
		from := graph.Start
		for _, id := range ids {
			if id != "sub" {
				b.Node(id, func(_ context.Context, s S) (U, error) { return does(id, s), nil })
			}
			b.Edge(from, id)
			from = id
		}
		b.Edge(from, graph.End)
		return b
	}
	child, err := chain(graph.New("inner", schema), "a", "b", "c").Compile(graph.SubgraphOnly(), graph.InterruptBefore("b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New("outer", schema)
	b.Subgraph("sub", child)
	app, err := chain(b, "begin", "sub", "end").Compile(append(opts, graph.Saver(s))...)
	if err != nil {
		t.Fatal(err)
	}
	return app.Thread("t")
}

// older and wider are the thread t of the two releases. With more, the later release's node of
// that name writes the field that the earlier release does not have. c reports the value that it
// sees.
func older(t *testing.T, s checkpoint.Saver, opts ...graph.Option) graph.Thread[pair, pairUpdate] {
	t.Helper()
	return release(t, teststate.PairSchema, func(node graph.ID, _ pair) pairUpdate { return pairUpdate{Bar: state.Append(string(node))} }, s, opts...)
}

func wider(t *testing.T, s checkpoint.Saver, more graph.ID, opts ...graph.Option) graph.Thread[teststate.WiderPair, teststate.WiderPairUpdate] {
	t.Helper()
	return release(t, teststate.WiderPairSchema, func(node graph.ID, s teststate.WiderPair) (u teststate.WiderPairUpdate) {
		u.Bar.Append(string(node))
		switch node {
		case "begin", more:
			u.More.Append("of " + string(node))
		case "c":
			u.Bar.Append(fmt.Sprint("saw ", s.More))
		}
		return u
	}, s, opts...)
}

// TestASubgraphCarriesFieldsThatTheCodeDoesNotHave has releases take turns in a subgraph over the
// same state.
func TestASubgraphCarriesFieldsThatTheCodeDoesNotHave(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, drop := range []bool{false, true} { // which is of nested fields
			what := fmt.Sprint("nested ones dropped ", drop)
			opts := []graph.Option{d}
			if drop {
				opts = append(opts, graph.DropUnknownFields())
			}
			s := memory.New()
			if _, err := wider(t, s, "", d, graph.InterruptBefore("sub")).Invoke(t.Context(), teststate.WiderPairUpdate{}); err != nil {
				t.Fatal(err)
			}
			var res graph.Result[pair]
			for _, stop := range []string{"b", "c"} { // the older release begins the subgraph
				var err error
				if res, err = older(t, s, opts...).Resume(t.Context()); err != nil || res.Status != graph.Paused {
					t.Fatalf("%s: got %s, %v; want it to stop before %s", what, res.Status, err, stop)
				}
			}
			last, err := wider(t, s, "", d).Resume(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			want := teststate.WiderPair{Bar: []string{"begin", "a", "b", "c", "saw [of begin]", "end"}, More: []string{"of begin"}}
			same(t, what, last.State, want)

			s = memory.New()
			if _, err := wider(t, s, "", d).Invoke(t.Context(), teststate.WiderPairUpdate{}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if res, err = older(t, s, opts...).Resume(t.Context()); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			same(t, what+": status", res.Status, graph.Done)
			snap, err := wider(t, s, "", d).State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want.Bar = []string{"begin", "a", "b", "c", "end"}
			same(t, what+": what the older release came to", snap.State, want)
		}
	})
}

// TestASubgraphChangeOfAFieldThatTheCodeDoesNotHave: a change of such a field cannot be merged.
// The code that has the field continues, or the subgraph starts again.
func TestASubgraphChangeOfAFieldThatTheCodeDoesNotHave(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		if _, err := wider(t, s, "a", d).Invoke(t.Context(), teststate.WiderPairUpdate{}); err != nil {
			t.Fatal(err)
		}
		_, err := older(t, s, d, graph.DropUnknownFields()).Resume(t.Context())
		if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), "More") || !strings.Contains(err.Error(), "graph.Rerun") {
			t.Fatalf("got %v, want ErrGraphChanged that names More and Rerun", err)
		}
		if err := checkpoint.Copy(t.Context(), s, "t", 0, s, "copy"); err != nil {
			t.Fatal(err)
		}
		var last graph.Result[teststate.WiderPair]
		for _, want := range []graph.Status{graph.Paused, graph.Done} { // the stop before b was passed, without effect
			if last, err = wider(t, s, "a", d).Resume(t.Context()); err != nil || last.Status != want {
				t.Fatalf("got %s, %v; want it %s", last.Status, err, want)
			}
		}
		same(t, "state", last.State, teststate.WiderPair{
			Bar:  []string{"begin", "a", "b", "c", "saw [of begin of a]", "end"},
			More: []string{"of begin", "of a"},
		})
		if err := s.Delete(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.Copy(t.Context(), s, "copy", 0, s, "t"); err != nil {
			t.Fatal(err)
		}
		res, err := older(t, s, d).Resume(t.Context(), graph.Rerun("sub"))
		for err == nil && res.Status == graph.Paused {
			res, err = older(t, s, d).Resume(t.Context())
		}
		if err != nil {
			t.Fatalf("begun anew: %v", err)
		}
		same(t, "begun anew", res.State.Bar, []string{"begin", "a", "b", "c", "end"})
	})
}
