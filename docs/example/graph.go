package example

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// NewGraph returns the graph of the manual.
func NewGraph(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("triage", StateSchema)
	g.Node("classify", classify)
	g.Node("policy", askPolicy)     // declared before customer:
	g.Node("customer", askCustomer) // if both write a "last" field, customer's value stays
	g.Node("answer", answer)

	g.Edge(graph.Start, "classify")
	g.Edge("classify", "policy")
	g.Edge("classify", "customer")
	g.Join([]graph.ID{"policy", "customer"}, "answer")
	g.Edge("answer", graph.End)
	return g.Compile(graph.Saver(saver), graph.InterruptBefore("answer"))
}

func classify(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Status.Set("refund")
	u.Log.Append("classified for " + s.Owner)
	return u, nil
}

func askPolicy(context.Context, State) (StateUpdate, error) {
	var u StateUpdate
	u.Picked.Set("the returns desk")
	return u, nil
}

func askCustomer(context.Context, State) (StateUpdate, error) {
	var u StateUpdate
	u.Picked.Set("the customer's adviser")
	return u, nil
}

func answer(ctx context.Context, s State) (StateUpdate, error) {
	reply := Message{ID: graph.CurrentTask(ctx).Key, Parts: []Part{&Text{s.Status}}}
	fact := Fact{Source: "the map", Text: "Lisbon"}

	var u StateUpdate
	u.Status.Set("answered")
	u.Tokens.Add(42)
	u.Messages.Upsert(reply)
	u.Facts.Put("city", fact)
	return u, nil
}

// Decide edits a paused thread and resumes it.
func Decide(ctx context.Context, t graph.Thread[State, StateUpdate]) (graph.Result[State], error) {
	snap, err := t.State(ctx)
	if err != nil {
		return graph.Result[State]{}, err
	}
	_, err = t.UpdateState(ctx, StateUpdate{Status: state.Set("approved")}, graph.IfHead(snap.Checkpoint))
	if err != nil {
		return graph.Result[State]{}, err
	}
	return t.Resume(ctx)
}
