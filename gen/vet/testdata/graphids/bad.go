package graphids

import (
	"context"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

const policy graph.ID = "policy"

func node(context.Context, desk.State) (desk.StateUpdate, error) { return desk.StateUpdate{}, nil }

func task(context.Context, desk.State, desk.Doc) (desk.StateUpdate, error) {
	return desk.StateUpdate{}, nil
}

func choose(_ context.Context, s desk.State) (graph.Next, error) {
	if s.Total > 3 {
		return graph.To("anwser"), nil // want `the targets of this route do not contain "anwser"; did you mean "answer"\?`
	}
	return graph.To(graph.End), nil // want `the targets of this route do not contain graph\.End`
}

type house struct{}

func (house) open(context.Context, desk.State) (desk.StateUpdate, graph.Next, error) {
	return desk.StateUpdate{}, graph.To("answer", "refunds"), nil // want `the targets of this route do not contain "refunds"`
}

// BadGraph has misspelt ids.
func BadGraph() {
	g := graph.New("bad", desk.StateSchema)
	g.Node("classify", node)
	g.Node(policy, node)
	g.Node("answer", node)
	read := graph.TaskNode(g, "read", task)
	g.RoutingNode("open", house{}.open, graph.Targets("answer"))

	g.Chain(graph.Start, "clasify", "answer") // want `no node of this graph has the id "clasify"; did you mean "classify"\?`
	g.Edge("answer", "mail")                  // want `no node of this graph has the id "mail"`
	g.Edge(read.ID, graph.End)
	g.Join([]graph.ID{"classify", "polici"}, "answer")  // want `no node of this graph has the id "polici"`
	g.JoinAny([]graph.ID{"classify", policy}, "anwser") // want `no node of this graph has the id "anwser"`
	g.Route("clssify", choose, "answer")                // want `no node of this graph has the id "clssify"`
	g.Route("answer", func(_ context.Context, s desk.State) (graph.Next, error) {
		next := graph.To(read.ID)
		next.Add(graph.To("polcy")) // want `the targets of this route do not contain "polcy"; did you mean "policy"\?`
		return next, nil
	}, read.ID, policy)
	g.Fallback("anser", nil) // want `no node of this graph has the id "anser"`
}

// check has the ids of tests and tools.
func check(ctx context.Context, t graph.Thread[desk.State, desk.StateUpdate], snap graph.Snapshot[desk.State]) bool {
	_, _ = t.Resume(ctx, graph.Rerun("clasify"))                        // want `no node of this package has the id "clasify"`
	_, _ = t.Resume(ctx, graph.InterruptBefore("answer", "anwser"))     // want `no node of this package has the id "anwser"`
	_, _ = t.UpdateState(ctx, desk.StateUpdate{}, graph.AsNode("opne")) // want `no node of this package has the id "opne"; did you mean "open"\?`
	for _, id := range snap.Next {
		switch id {
		case "answer", "raed": // want `no node of this package has the id "raed"`
			return true
		}
	}
	return snap.Next[0] == "answr" // want `no node of this package has the id "answr"`
}
