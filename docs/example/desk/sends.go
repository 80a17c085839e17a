package desk

import (
	"context"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// NewReader returns a graph that reads all documents concurrently, one send for each.
func NewReader(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("reader", StateSchema)
	read := graph.TaskNode(g, "read", readDoc)
	g.Node("report", report, graph.Deferred())

	g.Route(graph.Start, func(_ context.Context, s State) (graph.Next, error) {
		next := graph.To("report")
		for _, name := range s.Names {
			next.Add(read.Send(Doc{Name: name}))
		}
		return next, nil
	}, read.ID, "report")
	g.Edge(read.ID, graph.End)
	g.Edge("report", graph.End)
	return g.Compile(graph.Saver(saver))
}

func readDoc(ctx context.Context, _ State, d Doc) (StateUpdate, error) {
	graph.Summary(ctx, d.Name)
	var u StateUpdate
	u.Found.Put(d.Name, strings.ToUpper(d.Name))
	u.Log.Append("read " + d.Name)
	return u, nil
}

func report(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Log.Append(strings.Join([]string{"found", s.Found["a"], s.Found["b"]}, " "))
	return u, nil
}

// NewTriage returns a graph with a routing node, which chooses its successor.
func NewTriage() (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("triage", StateSchema)
	g.RoutingNode("open", open, graph.Targets("refund", graph.End))
	g.Node("refund", func(context.Context, State) (StateUpdate, error) { return StateUpdate{}, nil })
	g.Edge(graph.Start, "open")
	g.Edge("refund", graph.End)
	return g.Compile()
}

func open(_ context.Context, s State) (StateUpdate, graph.Next, error) {
	var u StateUpdate
	u.Log.Append("opened " + s.Order)
	if strings.HasPrefix(s.Order, "R-") {
		return u, graph.To("refund"), nil
	}
	return u, graph.To(graph.End), nil
}
