package graphids

import (
	"context"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func chooseGood(_ context.Context, s desk.State) (graph.Next, error) {
	if s.Total > 3 {
		return graph.To("a"), nil
	}
	return graph.To("b", graph.End), nil
}

func toParent(_ context.Context, s desk.State) (graph.Next, error) {
	return graph.ToParent(graph.To("person")), nil
}

// GoodGraph has the ids of its nodes only.
func GoodGraph(child *graph.Graph[desk.State, desk.StateUpdate]) {
	g := graph.New("good", desk.StateSchema)
	g.Node("a", node)
	id := g.Node("b", node)
	task := graph.TaskNode(g, "c", task)
	g.Subgraph("d", child, graph.Targets("a", "b"))

	g.Chain(graph.Start, "a", id, graph.End)
	g.Edge(task.ID, "d")
	g.Join([]graph.ID{"a", "b"}, "d")
	g.Route("a", chooseGood, "a", "b", graph.End)
	g.Route("b", chooseGood, "b", graph.End) // the other route of the function has "a"
	g.Route("c", toParent, graph.Parent)
	targets := []graph.ID{"a"}
	g.Route("d", func(context.Context, desk.State) (graph.Next, error) {
		return graph.To("x"), nil // the targets are unknown
	}, targets...)
	g.RoutingNode("e", func(context.Context, desk.State) (desk.StateUpdate, graph.Next, error) {
		return desk.StateUpdate{}, graph.To("a"), nil
	}, graph.Targets("a"))
}

// compares has ids of nodes, and texts that are no ids.
func compares(s desk.State, id graph.ID) bool {
	return s.Status == "unknown" || id == "a" || id == graph.End || id == ""
}
