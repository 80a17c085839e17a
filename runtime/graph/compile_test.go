package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type (
	work   = teststate.Work
	update = teststate.WorkUpdate
)

func newWork() *graph.Builder[work, update] { return graph.New("g", teststate.WorkSchema) }

func idle(context.Context, work) (update, error) { return update{}, nil }

func toEnd(context.Context, work) (graph.Next, error) { return graph.To(graph.End), nil }

func faults(t *testing.T, b *graph.Builder[work, update], opts ...graph.Option) []string {
	t.Helper()
	_, err := b.Compile(opts...)
	var e *graph.CompileError
	if !errors.As(err, &e) {
		t.Fatalf("Compile: got %v, want a *CompileError", err)
	}
	return e.Faults
}

func TestCompileReportsEveryFault(t *testing.T) {
	tests := []struct {
		name  string
		build func(b *graph.Builder[work, update])
		opts  []graph.Option
		want  []string
	}{
		{"nothing", func(*graph.Builder[work, update]) {}, nil,
			[]string{`nothing leaves Start; add an edge from graph.Start to the node that comes first`}},
		{"names", func(b *graph.Builder[work, update]) {
			b.Node("", idle)
			b.Node("__a", idle)
			b.Node("a", idle)
			b.Node("a", idle)
			b.Node("b", nil)
		}, nil, []string{
			`a node has an empty id; name every node`,
			`node "__a": ids that begin with two underscores are reserved`,
			`node "a" is declared twice`,
			`node "b" has no function; pass one`,
			`nothing leaves Start; add an edge from graph.Start to the node that comes first`,
			`node "a" leads nowhere; add an edge to graph.End`,
			`node "b" leads nowhere; add an edge to graph.End`,
		}},
		{"edges", func(b *graph.Builder[work, update]) {
			b.Node("a", idle)
			b.Edge("x", "a")
			b.Edge("a", "y")
			b.Edge("a", graph.Start)
			b.Edge(graph.End, "a")
			b.Edge("a", graph.End)
			b.Edge("a", graph.End)
		}, nil, []string{
			`edge x -> a: no node "x"`,
			`edge a -> y: no node "y"`,
			`edge a -> Start: nothing leads to Start; name the node that comes first`,
			`edge End -> a: nothing leaves End`,
			`edge a -> End is declared twice`,
			`nothing leaves Start; add an edge from graph.Start to the node that comes first`,
		}},
		{"routes", func(b *graph.Builder[work, update]) {
			b.Node("a", idle)
			b.Route("a", toEnd)
			b.Route("a", toEnd, "x", graph.End, graph.End)
			b.Route("y", nil, "a")
		}, nil, []string{
			`route from a declares no targets; list behind its function every node that it may choose, and graph.End if it may end`,
			`route from a: no node "x"`,
			`route from a declares End twice`,
			`route from a is declared twice; one function chooses all that follows a node`,
			`route from y: no node "y"`,
			`route from y has no function`,
			`nothing leaves Start; add an edge from graph.Start to the node that comes first`,
		}},
		{"joins", func(b *graph.Builder[work, update]) {
			b.Node("a", idle)
			b.Node("b", idle)
			b.Join([]graph.ID{"a"}, "b")
			b.Join([]graph.ID{"a", "a"}, "b")
			b.Join([]graph.ID{"a", graph.Start}, "b")
			b.Join([]graph.ID{"a", "b"}, graph.End)
			b.Join([]graph.ID{"a", "x"}, "y")
		}, nil, []string{
			`join of [a] -> b: a join waits for at least two nodes; use Edge for one`,
			`join of [a a] -> b names a twice`,
			`join of [a Start] -> b: Start has always run; leave it out`,
			`join of [a b] -> End: a join leads to a node, not to End; leave it out, because branches end by themselves`,
			`join of [a x] -> y: no node "y"`,
			`join of [a x] -> y: no node "x"`,
			`nothing leaves Start; add an edge from graph.Start to the node that comes first`,
		}},
		{"paths", func(b *graph.Builder[work, update]) {
			b.Node("a", idle)
			b.Node("lonely", idle)
			b.Node("unreached", idle)
			b.Node("dead", idle)
			b.Edge(graph.Start, "a")
			b.Edge("a", "dead")
			b.Edge("a", graph.End)
			b.Edge("unreached", graph.End)
			b.Node("late", idle)
			b.Edge("late", graph.End)
			b.Join([]graph.ID{"a", "unreached"}, "late")
		}, nil, []string{
			`node "lonely" is never reached and leads nowhere; wire it in or take it out`,
			`node "unreached" is never reached; add an edge or a route target to it`,
			`node "dead" leads nowhere; add an edge to graph.End`,
			`node "late" is never reached; add an edge or a route target to it`,
			`the join to late can never fire: unreached is never reached`,
		}},
		{"unknown names, and what has nothing to do with them", func(b *graph.Builder[work, update]) {
			b.Node("a", idle)
			b.Node("b", idle)
			b.Node("c", idle) // after b, which nothing reaches
			b.Node("dead", idle)
			b.Node("lonely", idle)
			b.Node("spin", idle)
			b.Node("spun", idle)
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "dead")
			b.Edge(graph.Start, "spin")
			b.Edge("spin", "spun")
			b.Edge("spun", "spin")
			b.Edge("a", "bb")
			b.Edge("b", "c")
			b.Edge("c", graph.End)
			b.Edge("lonely", graph.End)
		}, nil, []string{
			`edge a -> bb: no node "bb"`,
			`node "b" is never reached; add an edge or a route target to it`,
			`node "dead" leads nowhere; add an edge to graph.End`,
			`node "lonely" is never reached; add an edge or a route target to it`,
			`from spin no path leads to End, so a run that gets there never finishes`,
			`from spun no path leads to End, so a run that gets there never finishes`,
		}},
		{"unknown sources", func(b *graph.Builder[work, update]) {
			b.Node("a", idle)
			b.Node("b", idle)
			b.Node("c", idle)
			b.Node("d", idle)
			b.Node("lonely", idle)
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			b.Edge("x", "b")
			b.Edge("b", graph.End)
			b.Route("y", toEnd, "c", "z")
			b.Edge("c", graph.End)
			b.Join([]graph.ID{"a", "w"}, "d")
			b.Edge("d", graph.End)
		}, nil, []string{
			`edge x -> b: no node "x"`,
			`route from y: no node "y"`,
			`route from y: no node "z"`,
			`join of [a w] -> d: no node "w"`,
			`node "lonely" is never reached and leads nowhere; wire it in or take it out`,
		}},
		{"a conflict and an unknown name", func(b *graph.Builder[work, update]) {
			b.Node("a", idle, graph.Writes("Status"))
			b.Node("b", idle, graph.Writes("Status"))
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Edge("x", "b")
			b.Edge("b", "a")
			b.Edge("a", "y")
			b.Edge("b", graph.End)
			b.Edge(graph.End, "b")
		}, nil, []string{
			`edge x -> b: no node "x"`,
			`edge a -> y: no node "y"`,
			`edge End -> b: nothing leaves End`,
			`nodes "a" and "b" both write Status, which only one task may set, and always run in one superstep after Start ` +
				`(Start -> a, Start -> b); let one of them write it, or give the field a reducer such as last`,
		}},
		{"endless", func(b *graph.Builder[work, update]) {
			b.Node("a", idle)
			b.Node("b", idle)
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Edge("b", "a")
		}, nil, []string{
			`from Start no path leads to End, so a run that gets there never finishes`,
			`from a no path leads to End, so a run that gets there never finishes`,
			`from b no path leads to End, so a run that gets there never finishes`,
		}},
		{"options", func(b *graph.Builder[work, update]) {
			b.Node("a", idle, graph.Timeout(-1), graph.Retry(graph.RetryPolicy{Attempts: -1}))
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
		}, []graph.Option{graph.MaxSteps(0), graph.Concurrency(0), graph.InterruptBefore("x", graph.End), graph.BeforeRoute()}, []string{
			`InterruptBefore: no node "x"`,
			`InterruptBefore: End is not a node`,
			`BeforeRoute without InterruptAfter has nothing to stop`,
			`a graph that stops for people needs a Saver: without one nothing can be resumed`,
			`MaxSteps is 0; want at least 1`,
			`Concurrency is 0; want at least 1`,
			`node "a": its Timeout is -1ns; want more than 0`,
			`node "a": its Retry has -1 attempts; want at least 1`,
		}},
		{"options that say nothing", func(b *graph.Builder[work, update]) {
			b.Node("a", idle, graph.Timeout(0), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: -1}))
			b.Node("b", idle, graph.Retry(graph.RetryPolicy{Attempts: 2, Max: -1}))
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Edge("b", graph.End)
		}, []graph.Option{graph.Saver(nil), graph.Observe(nil), graph.Observe((*notebook)(nil)), graph.Holder(""), graph.MaxSteps(-1)}, []string{
			`Saver is nil (<nil>); pass a saver that was opened, or leave the option out`,
			`Observe is given nil (<nil>); pass an Observer, or leave the option out`,
			`Observe is given nil (*graph_test.notebook); pass an Observer, or leave the option out`,
			`Holder is empty; name who runs, or leave the option out`,
			`MaxSteps is -1; want at least 1`,
			`node "a": its Timeout is 0s; want more than 0`,
			`node "a": its Retry has a Base of -1ns; want more than 0, or 0 for the default`,
			`node "b": its Retry has a Max of -1ns; want more than 0, or 0 for the default`,
		}},
		{"a saver that is a nil pointer", func(b *graph.Builder[work, update]) {
			b.Node("a", idle)
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
		}, []graph.Option{graph.Saver((*memory.Saver)(nil)), graph.InterruptBefore("a")}, []string{
			`Saver is nil (*memory.Saver); pass a saver that was opened, or leave the option out`,
		}},
		{"options of another kind of node", func(b *graph.Builder[work, update]) {
			wrong := []graph.NodeOption{graph.Stateful(), graph.Unstored(), graph.Targets("sub"), graph.Queue("q"),
				graph.KeepUpdateOnError(), refund, payment}
			child, err := chain("x").Compile(graph.SubgraphOnly())
			if err != nil {
				panic(err)
			}
			b.Node("a", idle, wrong[:3]...)
			b.Subgraph("sub", child, append(wrong[:1:1], wrong[3:]...)...)
			b.Chain(graph.Start, "a", "sub", graph.End)
		}, []graph.Option{graph.Saver(memory.New())}, []string{
			`node "a" has the option Targets, which is for routing nodes and subgraphs; leave it out`,
			`node "a" has the option Unstored, which is for subgraphs; leave it out`,
			`node "a" has the option Stateful, which is for MapSubgraph; leave it out`,
			`node "sub" has the option KeepUpdateOnError, which is for nodes with a function; leave it out`,
			`node "sub" has the option Queue, which is for nodes with a function; leave it out`,
			`node "sub" has the option Question, which is for nodes with a function, MapSubgraph and TaskSubgraph; leave it out`,
			`node "sub" has the option Signal, which is for nodes with a function, MapSubgraph and TaskSubgraph; leave it out`,
			`node "sub" has the option Stateful, which is for MapSubgraph; leave it out`,
			`node "sub" has a Queue and KeepUpdateOnError; return what must be kept as a result`,
		}},
		{"options set twice", func(b *graph.Builder[work, update]) {
			b.Node("a", idle, graph.Timeout(1), graph.Retry(graph.RetryPolicy{}), graph.Writes("Log"), graph.Deferred(),
				graph.Timeout(1), graph.Retry(graph.RetryPolicy{}), graph.Writes("Count"), graph.Deferred(), graph.Timeout(2))
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
		}, []graph.Option{
			graph.Saver(memory.New()), graph.Async, graph.MaxSteps(1), graph.Concurrency(1), graph.Strict(), graph.Lease(1),
			graph.Saver(memory.New()), graph.Sync, graph.MaxSteps(2), graph.Concurrency(1), graph.Strict(), graph.Lease(1), graph.Saver(memory.New()),
		}, []string{
			`Saver is set twice; set it once`,
			`Durability is set twice; set it once`,
			`MaxSteps is set twice; set it once`,
			`Concurrency is set twice; set it once`,
			`Strict is set twice; set it once`,
			`Lease is set twice; set it once`,
			`node "a": its Timeout is set twice; set it once`,
			`node "a": its Retry is set twice; set it once`,
			`node "a": its Writes is set twice; set it once`,
			`node "a": its Deferred is set twice; set it once`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newWork()
			test.build(b)
			if diff := cmp.Diff(test.want, faults(t, b, test.opts...)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileErrorNamesTheGraph(t *testing.T) {
	_, err := newWork().Compile()
	if err == nil || !strings.HasPrefix(err.Error(), "graph: g does not compile:\nnothing leaves Start") {
		t.Errorf("got %v", err)
	}
}

func TestCompileWithoutASchema(t *testing.T) {
	b := graph.New[work, update]("g", nil)
	b.Node("a", idle)
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	if got := faults(t, b); len(got) != 1 || !strings.HasPrefix(got[0], "the graph has no schema") {
		t.Errorf("got %q", got)
	}
}

func TestAGraphDoesNotChangeWithItsBuilder(t *testing.T) {
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) {
		var u update
		u.Log.Append("a")
		return u, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	b.Node("b", idle)
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	res, err := app.Run(t.Context(), update{})
	if err != nil || res.Steps != 1 {
		t.Errorf("got %d steps, %v; want 1", res.Steps, err)
	}
}

func TestChainAddsEdgesInARow(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "c"} {
		b.Node(id, say(string(id)))
	}
	b.Chain(graph.Start, "a", "b", "c", graph.End)
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"a", "b", "c"})
	b.Chain("a", "b")
	b.Chain("a")
	b.Chain()
	same(t, "faults", faults(t, b), []string{
		"chain of [a] has no edge; name at least two nodes",
		"chain of [] has no edge; name at least two nodes",
		"edge a -> b is declared twice",
	})
}
