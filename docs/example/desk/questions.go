package desk

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

var refund = graph.NewQuestion[Refund, Approval]("refund")

// NewRefunds returns a graph that asks before it pays.
func NewRefunds(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("refunds", StateSchema)
	g.Node("pay", pay, refund) // pay can ask this question
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	return g.Compile(graph.Saver(saver))
}

func pay(ctx context.Context, s State) (StateUpdate, error) {
	answer, err := refund.Ask(ctx, Refund{Order: s.Order, Cents: 4000})
	if err != nil {
		return StateUpdate{}, err // no answer yet: pay runs again after the answer
	}
	var u StateUpdate
	if answer.OK {
		u.Log.Append("paid, approved by " + answer.By)
	} else {
		u.Log.Append("refused by " + answer.By)
	}
	return u, nil
}

// Decide answers the open questions of a thread.
func Decide(ctx context.Context, t graph.Thread[State, StateUpdate], by string) (graph.Result[State], error) {
	snap, err := t.State(ctx)
	if err != nil {
		return graph.Result[State]{}, err
	}
	var answers []graph.ResumeOption
	for _, w := range snap.Questions {
		asked, err := refund.Decode(w)
		if err != nil {
			return graph.Result[State]{}, err
		}
		answers = append(answers, refund.Answer(w, Approval{OK: asked.Cents < 5000, By: by}))
	}
	return t.Resume(ctx, answers...)
}
