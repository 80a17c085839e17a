package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type (
	office       = teststate.Desk
	officeUpdate = teststate.DeskUpdate
)

// newDesk returns a Builder over Desk, and the one over its part.
func newDesk() (*graph.Builder[office, officeUpdate], *graph.Builder[work, update]) {
	b := graph.New("desk", teststate.DeskSchema)
	return b, graph.Part(b, teststate.DeskWork)
}

func compileDesk(t *testing.T, b *graph.Builder[office, officeUpdate], opts ...graph.Option) *graph.Graph[office, officeUpdate] {
	t.Helper()
	g, err := b.Compile(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestPartUpdate widens and narrows an update of a part with an operation on each field.
func TestPartUpdate(t *testing.T) {
	var u update
	u.Log.Append("a")
	u.Count.Add(2)
	u.Best.Offer(-1)
	u.Draft.Set("d")
	u.Facts.Put("k", "v")
	u.Stack.Reduce("s")
	whole := teststate.DeskWork.Widen(u)
	same(t, "narrowed again", teststate.DeskWork.Narrow(whole).Equal(u), true)
	s, err := state.Apply(teststate.DeskSchema, office{Note: "n"}, whole)
	if err != nil {
		t.Fatal(err)
	}
	want, err := state.Apply(teststate.WorkSchema, work{}, u)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "state", s, office{Note: "n", Work: want})
	same(t, "part", teststate.DeskWork.Of(s), want)
}

// TestNodesOfAPart declares each kind of node over a part, among nodes over the whole state.
func TestNodesOfAPart(t *testing.T) {
	build := func() *graph.Builder[office, officeUpdate] {
		b, part := newDesk()
		b.Node("open", func(context.Context, office) (officeUpdate, error) {
			return officeUpdate{Note: state.Set("open"), Count: state.Add(1)}, nil
		})
		part.Node("plain", func(_ context.Context, s work) (update, error) {
			return logged("plain after " + strings.Join(s.Log, " ")), nil
		})
		part.RoutingNode("routing", func(context.Context, work) (update, graph.Next, error) {
			return logged("routing"), graph.To("sending"), nil
		}, graph.Targets("sending"))
		part.Node("sending", say("sending"))
		task := graph.TaskNode(part, "task", func(_ context.Context, _ work, d doc) (update, error) {
			if d.Name == "bad" {
				return logged("tried " + d.Name), errBroken
			}
			return logged("task " + d.Name), nil
		}, graph.KeepUpdateOnError())
		graph.TaskFallback(part, task, func(_ context.Context, _ work, d doc, err error) (update, error) {
			return logged("fell back " + d.Name), nil
		})
		part.Route("sending", func(_ context.Context, s work) (graph.Next, error) {
			var n graph.Next
			for _, title := range []string{"good", "bad"} {
				n.Add(task.Send(doc{Name: title}))
			}
			return n, nil
		}, "task")
		inner := compile(t, chain("x", "y"), graph.SubgraphOnly())
		graph.MapSubgraph(part, "mapped", inner,
			func(_ context.Context, s work) (update, error) { return logged(s.Log[len(s.Log)-1]), nil },
			func(_ context.Context, _ work, child work) (update, error) { return logged(child.Log...), nil })
		b.Node("close", func(_ context.Context, s office) (officeUpdate, error) {
			return officeUpdate{Seen: state.Add(len(s.Log))}, nil
		})
		b.Chain(graph.Start, "open", "plain", "routing")
		part.Chain("task", "mapped", "close", graph.End)
		return b
	}
	want := []string{"plain after ", "routing", "sending", "task good", "tried bad", "fell back bad", "fell back bad", "x", "y"}
	check := func(t *testing.T, s office) {
		t.Helper()
		same(t, "log", s.Log, want)
		same(t, "note and count", []any{s.Note, s.Count, s.Seen}, []any{"open", 1, len(want)})
	}
	res, err := compileDesk(t, build(), graph.Strict()).Run(t.Context(), officeUpdate{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, res.State)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th := compileDesk(t, build(), graph.Saver(memory.New()), graph.Strict(), d).Thread("t")
		if _, err := th.Invoke(t.Context(), officeUpdate{}); err != nil {
			t.Fatal(err)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, snap.State)
	})
}

// TestHooksAndCachesOfAPart get the part of the state and of the update.
func TestHooksAndCachesOfAPart(t *testing.T) {
	var seen []string
	calls := 0
	b, part := newDesk()
	part.OnUpdate(func(_ context.Context, info graph.TaskInfo, s work, u update) error {
		if !u.Log.IsZero() {
			seen = append(seen, string(info.Node)+" "+s.Draft)
		}
		return nil
	})
	part.Node("costly", func(context.Context, work) (update, error) { calls++; return logged("costly"), nil })
	part.Cache("costly", graph.MemoryCache(1<<20), 0, func(s work) string { return s.Draft })
	part.Node("fails", func(context.Context, work) (update, error) { return update{}, errBroken })
	part.Fallback("fails", func(_ context.Context, _ work, err error) (update, error) { return logged(err.Error()), nil })
	b.Chain(graph.Start, "costly", "fails", graph.End)
	g := compileDesk(t, b)
	for range 2 {
		res, err := g.Run(t.Context(), officeUpdate{Draft: state.Set("d")})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.State.Log) != 2 || res.State.Log[0] != "costly" {
			t.Errorf("got the log %q, want that of both nodes", res.State.Log)
		}
	}
	same(t, "calls", calls, 1)
	if !slices.Contains(seen, "costly d") || !slices.Contains(seen, "fails ") {
		t.Errorf("OnUpdate saw %q, want both nodes", seen)
	}
}

// overPart is a graph over Desk with a subgraph that was compiled over the part.
func overPart(t *testing.T, child *app) *graph.Builder[office, officeUpdate] {
	t.Helper()
	b, part := newDesk()
	b.Node("before", func(context.Context, office) (officeUpdate, error) {
		return officeUpdate{Note: state.Set("n"), Log: state.Append("before"), Best: state.Build(func(u *update) { u.Best.Offer(0) }).Best}, nil
	})
	part.Node("sibling", say("sibling"))
	part.Subgraph("sub", child)
	part.Node("after", say("after"))
	b.Edge(graph.Start, "before")
	b.Edge("before", "sibling")
	b.Edge("before", "sub")
	b.Join([]graph.ID{"sibling", "sub"}, "after")
	b.Edge("after", graph.End)
	return b
}

// TestSubgraphOverAPart runs a graph over the part, with a subgraph of its own, in a graph over
// the whole state.
func TestSubgraphOverAPart(t *testing.T) {
	inner := compile(t, chain("deep"), graph.SubgraphOnly())
	b := chain("a", "b")
	b.Node("c", func(_ context.Context, s work) (update, error) {
		u := logged("c sees " + strings.Join(s.Log, " "))
		u.Best.Offer(-5) // less than the 0 of the node before
		return u, nil
	})
	b.Subgraph("d", inner)
	b.Edge("a", "c")
	b.Edge("c", "d")
	b.Edge("d", graph.End)
	child := compile(t, b, graph.SubgraphOnly())
	want := office{Note: "n", Work: work{Log: []string{"before", "sibling", "a", "b", "c sees before a", "deep", "after"}}}
	res, err := compileDesk(t, overPart(t, child), graph.Strict()).Run(t.Context(), officeUpdate{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "run", res.State, want)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		if _, err := compileDesk(t, overPart(t, child), graph.Saver(s), d).Thread("t").Invoke(t.Context(), officeUpdate{}); err != nil {
			t.Fatal(err)
		}
		snap, err := compileDesk(t, overPart(t, child), graph.Saver(s)).Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "stored", snap.State, want)
	})
}

// TestSubgraphOverAPartStops asks in a graph over the part. The call can be looked into, and
// edited, by the graph that was compiled over the part. Another program resumes it.
func TestSubgraphOverAPartStops(t *testing.T) {
	child := compile(t, asksOne(), graph.SubgraphOnly())
	s := memory.New()
	th := compileDesk(t, overPart(t, child), graph.Saver(s)).Thread("t")
	res, err := th.Invoke(t.Context(), officeUpdate{})
	if err != nil || res.Status != graph.Waiting {
		t.Fatalf("Invoke returned %v, %v, want a run that waits", res.Status, err)
	}
	snap, err := th.State(t.Context())
	if err != nil || len(snap.Calls) != 1 {
		t.Fatalf("State returned %d calls, %v, want 1", len(snap.Calls), err)
	}
	inside := graph.Inside(th, snap.Calls[0], child)
	in, err := inside.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "inside", in.State.Log, []string{"before"})
	if _, err := inside.UpdateState(t.Context(), logged("edited")); err != nil {
		t.Fatal(err)
	}
	th = compileDesk(t, overPart(t, child), graph.Saver(s)).Thread("t")
	res, err = th.Resume(t.Context(), amount.Answer(res.Questions[0], 3))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "log", res.State.Log, []string{"before", "sibling", "edited", "answered", "after"})
	same(t, "note", res.State.Note, "n")
	if history := collect(t, graph.Inside(th, snap.Calls[0], child).History(t.Context(), checkpoint.Query{})); len(history) == 0 {
		t.Error("the call has no history")
	}
}

// TestPartOfAPart declares in a part of the part's Builder.
func TestPartOfAPart(t *testing.T) {
	b, part := newDesk()
	itself := state.Part[work, update, work, update]{
		Schema: teststate.WorkSchema, Of: func(s work) work { return s }, Widen: func(u update) update { return u }, Narrow: func(u update) update { return u },
	}
	within := graph.Part(part, itself)
	within.Subgraph("sub", compile(t, chain("a"), graph.SubgraphOnly()))
	b.Chain(graph.Start, "sub", graph.End)
	res, err := compileDesk(t, b).Run(t.Context(), officeUpdate{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "log", res.State.Log, []string{"a"})
}

// TestCompileOfAPart refuses the Builder of a part, and reports faults of its nodes in the whole.
func TestCompileOfAPart(t *testing.T) {
	b, part := newDesk()
	part.Node("none", nil)
	part.Route("none", nil, "missing")
	b.Chain(graph.Start, "none")
	_, err := part.Compile()
	var wrong *graph.CompileError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "compile the Builder of the whole state") {
		t.Errorf("Compile of the part returned %v", err)
	}
	_, err = b.Compile()
	if !errors.As(err, &wrong) || len(wrong.Faults) < 3 {
		t.Errorf("Compile of the whole returned %v, want the faults of the part", err)
	}
}
