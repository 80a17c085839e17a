package diagram_test

import (
	"context"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// builder is a Builder of the graphs in tests.
type builder = graph.Builder[Order, OrderUpdate]

func work(context.Context, Order) (u OrderUpdate, err error) { return u, nil }

func choose(context.Context, Order) (graph.Next, error) { return graph.To(graph.End), nil }

var (
	approve = graph.NewQuestion[wire.String, wire.Bool]("approve")
	paid    = graph.NewSignal[wire.String]("paid")
)

// shapes are graphs of many forms, by name.
func shapes(tb testing.TB) map[string]*graph.Description {
	tb.Helper()
	all := make(map[string]*graph.Description)
	for name, build := range map[string]func(*builder){
		"chain":     func(g *builder) { nodes(g, "a", "b", "c"); g.Chain(graph.Start, "a", "b", "c", graph.End) },
		"one node":  func(g *builder) { nodes(g, "only"); g.Chain(graph.Start, "only", graph.End) },
		"loop":      loop,
		"fan":       fan,
		"join":      joined,
		"race":      race,
		"sends":     sends,
		"subgraphs": func(g *builder) { subgraphs(tb, g) },
		"order":     func(g *builder) { order(tb, g) },
		"details":   details,
		"long way":  longWay,
		"names":     hostile,
	} {
		all[name] = describe(tb, name, build, graph.Saver(memory.New()))
	}
	return all
}

func describe(tb testing.TB, name string, build func(*builder), opts ...graph.Option) *graph.Description {
	tb.Helper()
	return compile(tb, name, build, opts...).Describe()
}

func compile(tb testing.TB, name string, build func(*builder), opts ...graph.Option) *graph.Graph[Order, OrderUpdate] {
	tb.Helper()
	g := graph.New(name, OrderSchema)
	build(g)
	app, err := g.Compile(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return app
}

func nodes(g *builder, ids ...graph.ID) {
	for _, id := range ids {
		g.Node(id, work)
	}
}

// loop is an agent that calls tools, and an editor that calls itself.
func loop(g *builder) {
	nodes(g, "model", "tools", "edit")
	g.Edge(graph.Start, "model")
	g.Route("model", choose, "tools", "edit")
	g.Edge("tools", "model")
	g.Route("edit", choose, "edit", graph.End)
}

func fan(g *builder) {
	nodes(g, "plan", "web", "mail", "database with a long name", "answer")
	g.Edge(graph.Start, "plan")
	for _, id := range []graph.ID{"web", "mail", "database with a long name"} {
		g.Edge("plan", id)
		g.Edge(id, "answer")
	}
	g.Edge("answer", graph.End)
}

func joined(g *builder) {
	nodes(g, "a", "b1", "b2", "c", "both")
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b1")
	g.Edge("b1", "b2")
	g.Edge("a", "c")
	g.Join([]graph.ID{"c", "b2"}, "both")
	g.Edge("both", graph.End)
}

func race(g *builder) {
	nodes(g, "fast", "cheap", "use", "log")
	g.Edge(graph.Start, "fast")
	g.Edge(graph.Start, "cheap")
	g.Edge("fast", "use")
	g.Edge("fast", "log")
	g.JoinAny([]graph.ID{"fast", "cheap"}, "use")
	g.Edge("use", graph.End)
	g.Edge("log", graph.End)
}

func sends(g *builder) {
	nodes(g, "split", "merge")
	each := graph.TaskNode(g, "read", func(context.Context, Order, wire.String) (u OrderUpdate, err error) { return u, nil }, graph.Queue("pool"))
	g.Edge(graph.Start, "split")
	g.Route("split", func(context.Context, Order) (graph.Next, error) { return each.Send("x"), nil }, each.ID, graph.End)
	g.Edge(each.ID, "merge")
	g.Edge("merge", graph.End)
}

func subgraphs(tb testing.TB, g *builder) {
	tb.Helper()
	inner := compile(tb, "inner", func(g *builder) {
		nodes(g, "check")
		g.Node("ask", work, approve)
		g.Edge(graph.Start, "check")
		g.Route("check", choose, "ask", graph.End, graph.Parent)
		g.Edge("ask", graph.End)
	}, graph.SubgraphOnly())
	outer := compile(tb, "outer", func(g *builder) {
		g.Subgraph("review", inner, graph.Targets("after"))
		nodes(g, "after")
		g.Chain(graph.Start, "review", "after", graph.End)
	}, graph.SubgraphOnly())
	nodes(g, "first", "last")
	g.Subgraph("whole", outer)
	each := graph.TaskSubgraph[Order, OrderUpdate, wire.String](g, "each", inner2(tb),
		func(context.Context, Order, wire.String) (u OrderUpdate, err error) { return u, nil },
		func(context.Context, Order, wire.String, Order) (u OrderUpdate, err error) { return u, nil })
	g.Edge(graph.Start, "first")
	g.Edge("first", "whole")
	g.Route("first", func(context.Context, Order) (graph.Next, error) { return each.Send("x"), nil }, each.ID)
	g.Edge("whole", "last")
	g.Edge(each.ID, "last")
	g.Route("last", choose, "whole", graph.End)
}

func inner2(tb testing.TB) *graph.Graph[Order, OrderUpdate] {
	tb.Helper()
	return compile(tb, "inner2", func(g *builder) {
		nodes(g, "read", "write")
		g.Chain(graph.Start, "read", "write", graph.End)
	}, graph.SubgraphOnly())
}

// order is an order service.
func order(tb testing.TB, g *builder) {
	tb.Helper()
	g.Node("reserve", work, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: time.Second}), graph.Timeout(time.Minute))
	g.Node("payment", work, paid)
	g.Node("price", work, graph.Queue("heavy"))
	g.Node("approve", work, approve)
	nodes(g, "ship", "cancel")
	g.Chain(graph.Start, "reserve", "price", "approve", "payment")
	g.Route("payment", choose, "ship", "cancel")
	g.Fallback("reserve", func(context.Context, Order, error) (u OrderUpdate, err error) { return u, nil })
	g.Edge("ship", graph.End)
	g.Edge("cancel", graph.End)
}

func details(g *builder) {
	nodes(g, "a", "b", "c")
	g.Node("log", work, graph.Detail())
	g.Node("count", work, graph.Detail())
	g.Node("again", work, graph.Detail())
	g.Edge(graph.Start, "a")
	g.Chain("a", "log", "count", "b")
	g.Route("b", choose, "again", "c")
	g.Edge("again", "a")
	g.Edge("c", graph.End)
}

// longWay has edges over many layers, next to a chain of wide boxes.
func longWay(g *builder) {
	ids := []graph.ID{"one", "the second, with a wide box", "three", "the fourth, with another wide box", "five", "six"}
	nodes(g, ids...)
	g.Chain(append([]graph.ID{graph.Start}, append(ids, graph.End)...)...)
	g.Edge("one", "six")
	g.Edge("one", "three")
	g.Edge("the second, with a wide box", graph.End)
	g.Edge("three", "six")
}

// names are hostile ids.
var names = []graph.ID{
	`"`, `\`, "<b>x</b>", "a\nb", "a&amp;b", "#35;", "end", "class", "n1", "1. item", "- item", "*x*", "`x`", "[[x]]", "{x}", "(x)", "|",
	"%%{init: {}}%%", "@enduml", "!include x", "' note", "</svg><script>", "${x}", "日本語", "a\x00b", "\xff", "__", "-->", ";", "x: y", "~~~", "<U+0041>",
	"http://example.com", "a__b", "**", "subgraph", "state", "\u202eright to left", "e\u0301", " ", "\t", "🙂",
}

func hostile(g *builder) {
	previous := graph.Start
	for _, id := range names {
		if id == "__" {
			continue // reserved
		}
		g.Node(id, work)
		g.Edge(previous, id)
		previous = id
	}
	g.Edge(previous, graph.End)
}
