package desk

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Name is the name of the graph.
const Name = "desk"

// Graph is the graph of an order.
type Graph = graph.Graph[State, StateUpdate]

var (
	approve = graph.NewQuestion[Refund, Approval]("approve")
	paid    = graph.NewReplySignal[Receipt, wire.String]("paid")
)

// New returns the graph on a saver. An order of no cents ends without a question. An order of less
// fails.
//
//	check -+- review - pay -+- done
//	       +----------------+
func New(saver checkpoint.Saver, opts ...graph.Option) (*Graph, error) {
	g := graph.New(Name, StateSchema)
	g.Node("check", check)
	g.Node("review", review, approve)
	g.Node("pay", pay, paid)
	g.Node("done", done)
	g.Edge(graph.Start, "check")
	g.Route("check", next, "review", "done")
	g.Edge("review", "pay")
	g.Edge("pay", "done")
	g.Edge("done", graph.End)
	return g.Compile(append(opts, graph.Saver(saver))...)
}

func check(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	if s.Cents < 0 {
		return u, errors.New("the price is below zero")
	}
	u.Log.Append(fmt.Sprintf("checked %s", s.Order))
	return u, nil
}

func next(_ context.Context, s State) (graph.Next, error) {
	if s.Cents == 0 {
		return graph.To("done"), nil
	}
	return graph.To("review"), nil
}

func review(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	vote, err := approve.Ask(ctx, Refund{Order: s.Order, Cents: s.Cents})
	if err != nil {
		return u, err
	}
	u.Vote.Set(&vote)
	u.Log.Append("reviewed by " + vote.By)
	return u, nil
}

func pay(ctx context.Context, _ State) (StateUpdate, error) {
	var u StateUpdate
	receipt, err := paid.Receive(ctx)
	if err != nil {
		return u, err
	}
	u.Receipt.Set(receipt.Value)
	u.Log.Append("paid by " + receipt.Value.Number)
	return u, receipt.Reply(ctx, wire.String("thanks for "+receipt.Value.Number))
}

func done(context.Context, State) (StateUpdate, error) {
	var u StateUpdate
	u.Log.Append("done")
	return u, nil
}
