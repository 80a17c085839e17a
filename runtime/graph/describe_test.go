package graph_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// manyOptions is a graph with every option that a description shows.
func manyOptions(t *testing.T) *graph.Graph[Ticket, TicketUpdate] {
	t.Helper()
	work := func(context.Context, Ticket) (u TicketUpdate, err error) { return u, nil }
	end := func(context.Context, Ticket) (graph.Next, error) { return graph.To(graph.End), nil }
	child := graph.New("child", TicketSchema)
	child.Node("step", work)
	child.Edge(graph.Start, "step")
	child.Route("step", end, graph.End, graph.Parent)
	inner, err := child.Compile(graph.SubgraphOnly())
	if err != nil {
		t.Fatal(err)
	}
	in := func(context.Context, Ticket) (u TicketUpdate, err error) { return u, nil }
	out := func(context.Context, Ticket, Ticket) (u TicketUpdate, err error) { return u, nil }

	g := graph.New("described", TicketSchema)
	g.Node("classify", work, graph.NewQuestion[wire.String, wire.Bool]("sure"), graph.NewSignal[wire.String]("paid"),
		graph.Writes(), graph.FormerIDs("sort", "look"), graph.Timeout(time.Minute), graph.Detail(),
		graph.Retry(graph.RetryPolicy{Attempts: 3, Base: time.Second, Max: time.Minute, If: func(error) bool { return true }}, graph.RetryPolicy{Attempts: 2}),
		graph.Limit(graph.MaxConcurrent(1)), graph.ContinueOnError(), graph.KeepUpdateOnError(), graph.Uncancellable(), graph.IdleTimeout(time.Second))
	g.RoutingNode("choose", func(context.Context, Ticket) (u TicketUpdate, n graph.Next, err error) { return u, n, nil }, graph.Targets("late", graph.End))
	g.Node("late", work, graph.Deferred(), graph.Queue("gpu"), graph.StartTimeout(time.Minute))
	each := graph.TaskNode(g, "each", func(context.Context, Ticket, wire.String) (u TicketUpdate, err error) { return u, nil }, graph.CatchAll())
	g.Subgraph("same", inner, graph.Targets("late"), graph.Unstored())
	graph.MapSubgraph(g, "mapped", inner, in, out, graph.Stateful(), graph.Targets("late"))
	calls := graph.TaskSubgraph[Ticket, TicketUpdate, wire.Int](g, "calls", inner,
		func(context.Context, Ticket, wire.Int) (u TicketUpdate, err error) { return u, nil },
		func(context.Context, Ticket, wire.Int, Ticket) (u TicketUpdate, err error) { return u, nil }, graph.Targets("late"))
	g.Node("quick", work)
	g.Node("slow", work)
	g.Node("joined", work)
	g.Cache("quick", graph.MemoryCache(1<<10), time.Hour, func(Ticket) string { return "" })
	g.Fallback("quick", func(context.Context, Ticket, error) (u TicketUpdate, err error) { return u, nil })
	g.Edge(graph.Start, "classify")
	g.Edge("classify", "choose")
	g.Route("classify", end, each.ID, calls.ID, "same", "mapped")
	g.Edge("same", "quick")
	g.Edge("same", "slow")
	g.JoinAny([]graph.ID{"quick", "slow"}, "late")
	g.Edge("quick", "late") // a second way to the same node
	g.Edge("late", graph.End)
	g.Join([]graph.ID{"quick", "mapped"}, "joined")
	for _, id := range []graph.ID{each.ID, calls.ID, "joined"} {
		g.Edge(id, graph.End)
	}
	app, err := g.Compile(graph.Saver(memory.New()), graph.InterruptBefore("late"), graph.InterruptAfter("each"))
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func TestDescribe(t *testing.T) {
	d := manyOptions(t).Describe()
	got, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile("testdata/description.json", append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/description.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.TrimSpace(string(want)) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestDescribeShowsEveryField finds each field of a description set in some node of the graph of
// the tests, so that none is forgotten.
func TestDescribeShowsEveryField(t *testing.T) {
	d := manyOptions(t).Describe()
	typ := reflect.TypeFor[graph.NodeDescription]()
	for i := range typ.NumField() {
		set := false
		for _, n := range d.Nodes {
			set = set || !reflect.ValueOf(n).Field(i).IsZero()
		}
		if !set {
			t.Errorf("no node has %s", typ.Field(i).Name)
		}
	}
}

// TestDescribeSharesSubgraphs describes a graph that contains its subgraph many times over.
func TestDescribeSharesSubgraphs(t *testing.T) {
	one := graph.New("one", TicketSchema)
	one.Node("step", func(context.Context, Ticket) (u TicketUpdate, err error) { return u, nil })
	one.Chain(graph.Start, "step", graph.End)
	app, err := one.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		g := graph.New("twice", TicketSchema)
		g.Subgraph("left", app)
		g.Subgraph("right", app)
		g.Edge(graph.Start, "left")
		g.Edge("left", "right")
		g.Edge("right", graph.End)
		if app, err = g.Compile(); err != nil {
			t.Fatal(err)
		}
	}
	d := app.Describe()
	if len(d.Nodes) != 2 || d.Nodes[0].Subgraph != d.Nodes[1].Subgraph {
		t.Errorf("got %d nodes with the subgraphs %p and %p, want one subgraph", len(d.Nodes), d.Nodes[0].Subgraph, d.Nodes[1].Subgraph)
	}
}
