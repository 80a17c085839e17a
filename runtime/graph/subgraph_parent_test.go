package graph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// escalating is a graph over work whose last node has its parent do next.
func escalating(t *testing.T, l *ledger, next func() graph.Next) *app {
	t.Helper()
	b := newWork()
	b.Node("a", step(l, "a"))
	b.RoutingNode("up", func(ctx context.Context, s work) (update, graph.Next, error) {
		u, err := step(l, "up")(ctx, s)
		return u, graph.ToParent(next()), err
	}, graph.Targets(graph.Parent, graph.End))
	b.Edge(graph.Start, "a")
	b.Edge("a", "up")
	return compile(t, b, graph.SubgraphOnly())
}

// escalatingFrom is escalating within so many graphs. Each of them chooses for its parent.
func escalatingFrom(t *testing.T, l *ledger, depth int, next func() graph.Next) *app {
	t.Helper()
	child := escalating(t, l, func() graph.Next {
		n := next()
		for range depth {
			n = graph.ToParent(n)
		}
		return n
	})
	for range depth {
		m := newWork()
		m.Subgraph("deep", child, graph.Targets(graph.Parent))
		m.Edge(graph.Start, "deep")
		child = compile(t, m, graph.SubgraphOnly())
	}
	return child
}

// escalated is a graph with a subgraph that chooses what runs next: it, a task node, or both.
func escalated(t *testing.T, l *ledger, depth int) *graph.Builder[work, update] {
	t.Helper()
	b := newWork()
	worker := graph.TaskNode(b, "worker", func(ctx context.Context, s work, d teststate.Doc) (update, error) {
		return step(l, "work "+d.Name)(ctx, s)
	})
	b.Node("person", step(l, "person"))
	next := func() graph.Next {
		n := graph.To("person")
		n.Add(worker.Send(teststate.Doc{Name: "one"}))
		n.Add(worker.Send(teststate.Doc{Name: "two"}))
		return n
	}
	b.Subgraph("sub", escalatingFrom(t, l, depth, next), graph.Targets("person", "worker", graph.End))
	b.Edge(graph.Start, "sub")
	b.Edge("worker", graph.End)
	b.Edge("person", graph.End)
	return b
}

func TestASubgraphSendsItsParentOn(t *testing.T) {
	const want = "a, up, person, work one, work two"
	for depth := range 3 {
		res := done(t, graph.Done)(compile(t, escalated(t, nil, depth), graph.Strict()).Run(t.Context(), input))
		wantLog(t, fmt.Sprint("run, depth ", depth), res.State, want)
	}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for depth := range 3 {
			th, _ := newThread(t, escalated(t, nil, depth), d, graph.Strict())
			res := done(t, graph.Done)(th.Invoke(t.Context(), input))
			wantLog(t, fmt.Sprint("depth ", depth), res.State, want)
		}
	})
}

func TestEveryCrashPointOfASubgraphThatSendsItsParentOn(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		everyCrashPoint(t, func(s checkpoint.Saver, l *ledger) (result, error) { return travelOf(t, escalated(t, l, 1), s, d) },
			func(what string, res result) { wantLog(t, what, res.State, "a, up, person, work one, work two") })
	})
}

func TestASubgraphOverAnotherStateSendsItsParentOn(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		inner := pairs(nil, "a")
		inner.Route("a", func(_ context.Context, p pair) (graph.Next, error) {
			if p.Foo == "given 0" {
				return graph.ToParent(graph.To("again")), nil
			}
			return graph.To(graph.End), nil // which leaves it to the edges of the node
		}, graph.Parent, graph.End)
		b := newWork()
		graph.MapSubgraph(b, "sub", compilePair(t, inner), toPair, fromPair, graph.Targets("again"))
		b.Node("again", say("again"))
		b.Node("sibling", say("sibling"))
		b.Edge(graph.Start, "sub")
		b.Edge("sub", "sibling")
		b.Edge("again", "sub")
		b.Edge("sibling", graph.End)
		th, _ := newThread(t, b, d)
		res := done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "log", strings.Join(res.State.Log, ", "), "given 0 0 a, again, sibling, given 3 3 a, sibling")
	})
}

func TestWhatASubgraphMayNotHaveItsParentDo(t *testing.T) {
	for name, c := range map[string]struct {
		next    graph.Next
		targets []graph.ID
		want    string
	}{
		"what is not listed":  {graph.ToParent(graph.To("other")), []graph.ID{graph.End}, `the choice "other" is not among the declared targets; declared are [End]`},
		"nothing":             {graph.ToParent(graph.Next{}), []graph.ID{graph.End}, "ToParent has no target"},
		"Parent as a node":    {graph.To(graph.Parent), []graph.ID{graph.End}, "use graph.ToParent"},
		"a Parent of nothing": {graph.ToParent(graph.ToParent(graph.To("x"))), []graph.ID{graph.Parent}, "the graph is not a subgraph"},
	} {
		inner := newWork()
		inner.Node("a", say("a"))
		inner.Route("a", func(context.Context, work) (graph.Next, error) { return c.next, nil }, graph.Parent)
		inner.Edge(graph.Start, "a")
		b := newWork()
		b.Node("other", say("other"))
		b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()), graph.Targets(c.targets...))
		b.Edge(graph.Start, "sub")
		b.Edge(graph.Start, "other")
		b.Edge("other", graph.End)
		b.Edge("sub", graph.End)
		var opts []graph.Option
		if c.targets[0] == graph.Parent {
			opts = append(opts, graph.SubgraphOnly())
		}
		_, err := compile(t, b, opts...).Run(t.Context(), input)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestASubgraphEndsBeforeItsParentContinues(t *testing.T) {
	inner := newWork()
	inner.Node("a", say("a"))
	inner.Node("b", say("b"))
	inner.Route("a", func(context.Context, work) (graph.Next, error) { return graph.ToParent(graph.To(graph.End)), nil }, graph.Parent)
	inner.Edge(graph.Start, "a")
	inner.Edge("a", "b")
	inner.Edge("b", graph.End)
	b := newWork()
	b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()), graph.Targets(graph.End))
	b.Edge(graph.Start, "sub")
	_, err := compile(t, b).Run(t.Context(), input)
	if err == nil || !strings.Contains(err.Error(), "Parent is chosen while [b] is due in the subgraph") {
		t.Errorf("got %v, want an error that names b", err)
	}
}

func TestParentInCompile(t *testing.T) {
	up := newWork()
	up.Node("a", say("a"))
	up.Route("a", choose(graph.Parent), graph.Parent)
	up.Edge(graph.Start, "a")
	same(t, "not nested", faults(t, up), []string{"route from a leads to Parent, which only a subgraph has; compile it with graph.SubgraphOnly"})
	child := compile(t, up, graph.SubgraphOnly())

	b := newWork()
	b.Subgraph("up", child)
	b.Subgraph("plain", compile(t, chain("x"), graph.SubgraphOnly()), graph.Targets(graph.End))
	b.Node("x", say("x"))
	for _, id := range []graph.ID{"up", "plain", "x"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	b.Edge("x", graph.Parent)
	b.Edge(graph.Parent, "x")
	same(t, "faults", faults(t, b), []string{
		"edge x -> Parent: only a choice leads to Parent; return graph.ToParent from a route",
		"edge Parent -> x: nothing leaves Parent",
		`subgraph "up" leads to Parent; list what it may choose by graph.Targets`,
		`subgraph "plain": nothing in it leads to Parent, so it never chooses among its Targets`,
	})
}

// busy is a graph with much in progress when the node sub chooses. It has a deferred node, a race
// that sub is in, a join after that race, and a longer branch. The choice of sub leads to another
// race, and to the deferred node. The rival of sub is declared before it, and wins, or after it.
func busy(l *ledger, rivalFirst bool, sub func(b *graph.Builder[work, update], next func() graph.Next)) *graph.Builder[work, update] {
	b := newWork()
	worker := graph.TaskNode(b, "worker", func(ctx context.Context, s work, d teststate.Doc) (update, error) {
		return step(l, "work "+d.Name)(ctx, s)
	})
	nodes := func(ids ...graph.ID) {
		for _, id := range ids {
			b.Node(id, step(l, string(id)))
		}
	}
	nodes("begin", "long")
	if rivalFirst {
		nodes("rival")
	}
	sub(b, func() graph.Next {
		n := graph.To("x", "y", "last")
		n.Add(worker.Send(teststate.Doc{Name: "one"}))
		n.Add(worker.Send(teststate.Doc{Name: "two"}))
		return n
	})
	if !rivalFirst {
		nodes("rival")
	}
	nodes("won", "longer", "both", "x", "y", "first")
	b.Node("last", step(l, "last"), graph.Deferred())
	b.Edge(graph.Start, "begin")
	for _, id := range []graph.ID{"long", "sub", "rival", "last"} {
		b.Edge("begin", id)
	}
	b.Edge("long", "longer")
	b.JoinAny([]graph.ID{"sub", "rival"}, "won")
	b.Join([]graph.ID{"longer", "won"}, "both")
	b.JoinAny([]graph.ID{"x", "y"}, "first")
	for _, id := range []graph.ID{"both", "first", "worker", "last"} {
		b.Edge(id, graph.End)
	}
	return b
}

// busyTargets are what sub may choose.
var busyTargets = []graph.ID{"x", "y", "last", "worker", graph.End}

// asNode makes sub a node, asSame and asOwn subgraphs, so many deep.
func asNode(b *graph.Builder[work, update], next func() graph.Next) {
	b.RoutingNode("sub", func(context.Context, work) (update, graph.Next, error) { return logged("a", "up"), next(), nil }, graph.Targets(busyTargets...))
}

func asSame(t *testing.T, l *ledger, depth int) func(*graph.Builder[work, update], func() graph.Next) {
	t.Helper()
	return func(b *graph.Builder[work, update], next func() graph.Next) {
		b.Subgraph("sub", escalatingFrom(t, l, depth, next), graph.Targets(busyTargets...))
	}
}

func asOwn(t *testing.T) func(*graph.Builder[work, update], func() graph.Next) {
	t.Helper()
	return func(b *graph.Builder[work, update], next func() graph.Next) {
		inner := pairs(nil, "a", "up")
		inner.Route("up", func(context.Context, pair) (graph.Next, error) { return graph.ToParent(next()), nil }, graph.Parent)
		graph.MapSubgraph(b, "sub", compilePair(t, inner), toPair,
			func(_ context.Context, _ work, p pair) (update, error) { return logged(p.Bar...), nil }, graph.Targets(busyTargets...))
	}
}

// TestASubgraphSendsABusyParentOn: as a node in its place would.
func TestASubgraphSendsABusyParentOn(t *testing.T) {
	type building = func(*graph.Builder[work, update], func() graph.Next)
	kinds := map[string]func(*ledger) building{
		"same":       func(l *ledger) building { return asSame(t, l, 0) },
		"same, deep": func(l *ledger) building { return asSame(t, l, 1) },
		"own":        func(*ledger) building { return asOwn(t) },
	}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, rivalFirst := range []bool{false, true} {
			want := done(t, graph.Done)(travelOf(t, busy(nil, rivalFirst, asNode), memory.New())).State.Log
			if chose := slices.Contains(want, "work two"); chose == rivalFirst {
				t.Fatalf("as a node it comes to %q", want)
			}
			for kind, sub := range kinds {
				t.Run(fmt.Sprintf("%s, rival first %t", kind, rivalFirst), func(t *testing.T) {
					t.Parallel()
					everyCrashPoint(t, func(s checkpoint.Saver, l *ledger) (result, error) {
						return travelOf(t, busy(l, rivalFirst, sub(l)), s, d)
					}, func(what string, res result) { same(t, what, res.State.Log, want) })
				})
			}
		}
	})
}
