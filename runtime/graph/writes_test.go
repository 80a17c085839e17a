package graph_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// meeting is the fault of two nodes that both write Status.
func meeting(a, b, origin, ways string) string {
	return `nodes "` + a + `" and "` + b + `" both write Status, which only one task may set, and always run in one superstep after ` +
		origin + " (" + ways + "); let one of them write it, or give the field a reducer such as last"
}

// writers declares nodes that write Status.
func writers(b *graph.Builder[work, update], ids ...graph.ID) {
	for _, id := range ids {
		b.Node(id, idle, graph.Writes("Status"))
	}
}

// idlers declares nodes that do not say what they write.
func idlers(b *graph.Builder[work, update], ids ...graph.ID) {
	for _, id := range ids {
		b.Node(id, idle)
	}
}

// edges adds an edge between each two ids that stand side by side.
func edges(b *graph.Builder[work, update], ids ...graph.ID) {
	for i, to := range ids[1:] {
		b.Edge(ids[i], to)
	}
}

func TestCompileProvesThatNodesAlwaysSetOneFieldTogether(t *testing.T) {
	tests := []struct {
		name  string
		build func(b *graph.Builder[work, update])
		want  []string // nil when the graph compiles
	}{
		{"side by side", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			edges(b, graph.Start, "a", graph.End)
			edges(b, graph.Start, "b", graph.End)
		}, []string{meeting("a", "b", "Start", "Start -> a, Start -> b")}},
		{"one behind the other", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			edges(b, graph.Start, "a", "b", graph.End)
		}, nil},
		{"one does not say", func(b *graph.Builder[work, update]) {
			writers(b, "a")
			idlers(b, "b")
			edges(b, graph.Start, "a", graph.End)
			edges(b, graph.Start, "b", graph.End)
		}, nil},
		{"other fields, and fields that merge", func(b *graph.Builder[work, update]) {
			b.Node("a", idle, graph.Writes("Status", "Log", "Facts", "Count", "Last", "Best", "Stack"))
			b.Node("b", idle, graph.Writes("Draft", "Log", "Facts", "Count", "Last", "Best", "Stack"))
			edges(b, graph.Start, "a", graph.End)
			edges(b, graph.Start, "b", graph.End)
		}, nil},
		{"an ephemeral field, and several", func(b *graph.Builder[work, update]) {
			b.Node("a", idle, graph.Writes("Draft", "Status"))
			b.Node("b", idle, graph.Writes("Draft", "Log", "Status"))
			edges(b, graph.Start, "a", graph.End)
			edges(b, graph.Start, "b", graph.End)
		}, []string{`nodes "a" and "b" both write Status, Draft, which only one task may set, and always run in one superstep after Start ` +
			`(Start -> a, Start -> b); let one of them write it, or give the field a reducer such as last`}},
		{"ways of one length", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "x", "p", "q", "s")
			edges(b, graph.Start, "x", "p", "s", "a", graph.End)
			edges(b, "x", "q", "p")
			edges(b, "q", "q", "b", graph.End)
		}, []string{meeting("a", "b", "x", "x -> p -> s -> a, x -> q -> q -> b")}},
		{"ways of different length", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "p")
			edges(b, graph.Start, "a", graph.End)
			edges(b, graph.Start, "p", "b", graph.End)
		}, nil},
		{"loops that meet", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "two", "three", "four")
			edges(b, graph.Start, "a", "two", "a", graph.End)               // after 1, 3, 5, 7 ...
			edges(b, graph.Start, "three", "four", "b", "three", graph.End) // after 3, 6 ...
		}, []string{meeting("a", "b", "Start", "Start -> a -> two -> a, Start -> three -> four -> b")}},
		{"loops that never meet", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "two", "other")
			edges(b, graph.Start, "a", "two", "a", graph.End)
			edges(b, graph.Start, "other", "b", "other", graph.End)
		}, nil},
		{"a route", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "x")
			edges(b, graph.Start, "x", "a", graph.End)
			b.Route("x", choose("b"), "b", graph.End)
			edges(b, "b", graph.End)
		}, nil},
		{"both alongside a route, behind it", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "x")
			b.Route(graph.Start, choose("x"), "x", graph.End)
			edges(b, "x", "a", graph.End)
			edges(b, "x", "b", graph.End)
			b.Route("x", choose(graph.End), graph.End)
		}, []string{meeting("a", "b", "x", "x -> a, x -> b")}},
		{"a routing node's edges", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			b.RoutingNode("x", choosesEnd, graph.Targets(graph.End))
			edges(b, graph.Start, "x", "a", graph.End)
			edges(b, "x", "b", graph.End)
		}, []string{meeting("a", "b", "x", "x -> a, x -> b")}},
		{"a join", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "x", "y", "p")
			edges(b, graph.Start, "x", "a")
			edges(b, graph.Start, "y")
			b.Join([]graph.ID{"x", "y"}, "b")
			edges(b, "a", "p", graph.End)
			edges(b, "b", graph.End)
		}, nil},
		{"the nodes of an any-of join", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "p")
			edges(b, graph.Start, "a")
			edges(b, graph.Start, "b")
			b.JoinAny([]graph.ID{"a", "b"}, "p")
			edges(b, "p", graph.End)
		}, nil},
		{"what an any-of join leads to", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			idlers(b, "x", "y")
			edges(b, graph.Start, "x", "a", graph.End)
			edges(b, graph.Start, "y")
			b.JoinAny([]graph.ID{"x", "y"}, "b")
			edges(b, "b", graph.End)
		}, nil},
		{"a deferred node", func(b *graph.Builder[work, update]) {
			writers(b, "a")
			b.Node("b", idle, graph.Writes("Status"), graph.Deferred())
			edges(b, graph.Start, "a", graph.End)
			edges(b, graph.Start, "b", graph.End)
		}, nil},
		{"behind a deferred node", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			b.Node("late", idle, graph.Deferred())
			edges(b, graph.Start, "late", "a", graph.End)
			edges(b, "late", "b", graph.End)
		}, []string{meeting("a", "b", "late", "late -> a, late -> b")}},
		{"a node that runs once a send", func(b *graph.Builder[work, update]) {
			writers(b, "a")
			many := graph.TaskNode(b, "many", func(context.Context, work, doc) (update, error) { return update{}, nil }, graph.Writes("Status"))
			edges(b, graph.Start, "a", graph.End)
			b.Route(graph.Start, toEnd, many.ID, graph.End)
			edges(b, many.ID, graph.End)
		}, nil},
		{"behind a node that runs once a send", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b")
			many := graph.TaskNode(b, "many", func(context.Context, work, doc) (update, error) { return update{}, nil })
			b.Route(graph.Start, toEnd, many.ID, graph.End)
			edges(b, many.ID, "a", graph.End)
			edges(b, many.ID, "b", graph.End)
		}, []string{meeting("a", "b", "many", "many -> a, many -> b")}},
		{"three", func(b *graph.Builder[work, update]) {
			writers(b, "a", "b", "c")
			edges(b, graph.Start, "a", graph.End)
			edges(b, graph.Start, "b", graph.End)
			edges(b, graph.Start, "c", graph.End)
		}, []string{
			meeting("a", "b", "Start", "Start -> a, Start -> b"),
			meeting("a", "c", "Start", "Start -> a, Start -> c"),
			meeting("b", "c", "Start", "Start -> b, Start -> c"),
		}},
		{"fields that are none", func(b *graph.Builder[work, update]) {
			b.Node("a", idle, graph.Writes("Log", "status", "Log"))
			edges(b, graph.Start, "a", graph.End)
		}, []string{
			`node "a": Writes names "status", which Work does not have; its fields are Log, Facts, Count, Status, Last, Best, Draft, Stack`,
			`node "a": Writes names Log twice`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newWork()
			test.build(b)
			if test.want == nil {
				compile(t, b)
				return
			}
			same(t, "faults", faults(t, b), test.want)
		})
	}
}

func choosesEnd(context.Context, work) (update, graph.Next, error) {
	return update{}, graph.To(graph.End), nil
}

// TestCompileFindsExactlyTheConflictsOfRuns makes random graphs of edges only. Each node sets and
// declares one field. Compile reports a conflict if and only if a run has one.
func TestCompileFindsExactlyTheConflictsOfRuns(t *testing.T) {
	refused := 0
	const graphs = 300
	for seed := range uint64(graphs) {
		r := rand.New(rand.NewPCG(seed, 1))
		ids := []graph.ID{"a", "b", "c", "d", "e", "f"}[:2+r.IntN(5)]
		declared, plain := newWork(), newWork()
		for i, id := range ids {
			set := func(context.Context, work) (update, error) { return update{Status: state.Set(string(id))}, nil }
			if r.IntN(2) == 0 {
				set = idle
				declared.Node(id, set)
			} else {
				declared.Node(id, set, graph.Writes("Status"))
			}
			plain.Node(id, set)
			from := append([]graph.ID{graph.Start}, ids...)
			to := map[graph.ID]bool{from[r.IntN(i+1)]: true} // reached from before
			if r.IntN(2) == 0 {
				to[from[r.IntN(len(from))]] = true
			}
			for from := range to {
				declared.Edge(from, id)
				plain.Edge(from, id)
			}
			declared.Edge(id, graph.End)
			plain.Edge(id, graph.End)
		}
		_, err := declared.Compile()
		_, ran := compile(t, plain, graph.MaxSteps(200)).Run(t.Context(), input)
		var conflict *graph.ConflictError
		if errors.As(ran, &conflict) != (err != nil) {
			t.Errorf("seed %d: Compile says %v, and a run came to %v", seed, err, ran)
		}
		if err != nil {
			refused++
		}
	}
	if refused < graphs/10 || refused > graphs*9/10 {
		t.Errorf("%d of %d graphs are refused, which proves little", refused, graphs)
	}
}

func TestCompileProvesWhatIsNearInLargeGraphs(t *testing.T) {
	b := newWork()
	writers(b, "a", "b", "c", "d")
	edges(b, graph.Start, "a", "c", graph.End)
	edges(b, graph.Start, "b", "d", graph.End)
	const nodes = 2000
	for i := range nodes {
		id := graph.ID(strconv.Itoa(i))
		idlers(b, id)
		edges(b, graph.Start, id, graph.End)
	}
	same(t, "faults", faults(t, b), []string{meeting("a", "b", "Start", "Start -> a, Start -> b")})
}

func TestASchemaThatCannotTellWhatIsWrittenIsRefused(t *testing.T) {
	old := *teststate.WorkSchema
	old.Writes = nil
	b := graph.New("g", &old)
	b.Node("a", idle, graph.Writes("Log"))
	edges(b, graph.Start, "a", graph.End)
	same(t, "faults", faults(t, b), []string{
		`node "a" declares what it writes, but the schema of Work was generated by an older graphgen; run go generate`,
	})
	b = graph.New("g", &old)
	idlers(b, "a")
	edges(b, graph.Start, "a", graph.End)
	done(t, graph.Done)(compile(t, b, graph.Strict()).Run(t.Context(), input))
}

// undeclared expects the error of a node that wrote what it did not declare, in a Strict run.
func undeclared(t *testing.T, err error, node graph.ID, want graph.UndeclaredError) {
	t.Helper()
	var n *graph.NodeError
	var u *graph.UndeclaredError
	if !errors.As(err, &n) || n.Node != node || n.Attempt != 1 || !errors.As(err, &u) {
		t.Fatalf("got %v, want an *UndeclaredError of %s at its first attempt", err, node)
	}
	same(t, "error", *u, want)
}

func TestAStrictRunHoldsNodesToWhatTheyDeclare(t *testing.T) {
	retry := graph.Retry(graph.RetryPolicy{Attempts: 3, Base: 1})
	lie := func(context.Context, work) (update, error) {
		u := logged("a")
		u.Status.Set("x")
		u.Count.Add(0)
		return u, nil
	}
	want := graph.UndeclaredError{Fields: []string{"Log", "Status"}, Declared: []string{"Count"}}
	inner := newWork()
	inner.Node("inner", lie)
	edges(inner, graph.Start, "inner", graph.End)
	sub := compile(t, inner, graph.SubgraphOnly())
	add := map[string]func(b *graph.Builder[work, update], sub *app) graph.ID{
		"node": func(b *graph.Builder[work, update], _ *app) graph.ID {
			return b.Node("a", lie, graph.Writes("Count"), retry)
		},
		"routing node": func(b *graph.Builder[work, update], _ *app) graph.ID {
			return b.RoutingNode("a", func(ctx context.Context, s work) (update, graph.Next, error) {
				u, err := lie(ctx, s)
				return u, graph.To(graph.End), err
			}, graph.Targets(graph.End), graph.Writes("Count"), retry)
		},
		"subgraph over the same state": func(b *graph.Builder[work, update], sub *app) graph.ID {
			return b.Subgraph("a", sub, graph.Writes("Count"), retry)
		},
		"subgraph over a state of its own": func(b *graph.Builder[work, update], sub *app) graph.ID {
			return graph.MapSubgraph(b, "a", sub,
				func(context.Context, work) (update, error) { return update{}, nil },
				func(ctx context.Context, s, _ work) (update, error) { return lie(ctx, s) }, graph.Writes("Count"), retry)
		},
	}
	for name, add := range add {
		t.Run(name, func(t *testing.T) {
			b := newWork()
			edges(b, graph.Start, add(b, sub), graph.End)
			_, err := compile(t, b, graph.Strict()).Run(t.Context(), input)
			undeclared(t, err, "a", want)
			res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
			same(t, "the log of a run that is not strict", res.State.Log, []string{"a"})
		})
	}
	t.Run("once a send", func(t *testing.T) {
		b := newWork()
		a := graph.TaskNode(b, "a", func(ctx context.Context, s work, _ doc) (update, error) { return lie(ctx, s) }, graph.Writes("Count"), retry)
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) { return a.Send(doc{}), nil }, "a")
		edges(b, "a", graph.End)
		_, err := compile(t, b, graph.Strict()).Run(t.Context(), input)
		undeclared(t, err, "a", want)
	})
	t.Run("in a subgraph of a strict run", func(t *testing.T) {
		inner := newWork()
		inner.Node("a", lie, graph.Writes("Count"))
		edges(inner, graph.Start, "a", graph.End)
		b := newWork()
		b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
		edges(b, graph.Start, "sub", graph.End)
		_, err := compile(t, b, graph.Strict()).Run(t.Context(), input)
		var u *graph.UndeclaredError
		if !errors.As(err, &u) {
			t.Errorf("got %v, want an *UndeclaredError", err)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		b := newWork()
		b.Node("a", lie, graph.Writes())
		edges(b, graph.Start, "a", graph.End)
		_, err := compile(t, b, graph.Strict()).Run(t.Context(), input)
		undeclared(t, err, "a", graph.UndeclaredError{Fields: []string{"Log", "Count", "Status"}, Declared: []string{}})
		wantText := `graph: g: step 2: node "a": the update changes Log, Count, Status, and Writes names nothing; ` +
			`add the fields to Writes, or leave them out of the update`
		if err.Error() != wantText {
			t.Errorf("got  %v\nwant %s", err, wantText)
		}
	})
}

func TestANodeThatWritesLessThanItDeclaresIsStrict(t *testing.T) {
	b := newWork()
	b.Node("a", say("a"), graph.Writes("Log", "Status"))
	b.Node("b", idle, graph.Writes())
	edges(b, graph.Start, "a", "b", graph.End)
	b.Subgraph("sub", compile(t, chain("c", "d"), graph.SubgraphOnly()), graph.Writes("Log"))
	edges(b, graph.Start, "sub", graph.End)
	g := compile(t, b, graph.Strict(), graph.Saver(memory.New()))
	done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
}
