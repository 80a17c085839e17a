package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The nodes, by the names that routes and tests use.
const (
	NodeCheck  graph.ID = "check"
	NodeDecide graph.ID = "decide"
	NodeOrder  graph.ID = "order"
	NodeClose  graph.ID = "close"
)

// The prices in cents from which one person, and from which two people, must approve.
const (
	onePrice = 50_00
	twoPrice = 1000_00
)

// lease is how long a killed service holds its requests.
const lease = 2 * time.Second

// approve asks approvers for a vote.
var approve = graph.NewQuestion[Purchase, Vote]("approve")

// flow is the graph of a request.
type flow = graph.Graph[State, StateUpdate]

// office contains the nodes as methods.
type office struct {
	pause func(ctx context.Context) error // called after each step of an order; nil for none
}

// latency returns a pause of duration d, for demonstrations.
func latency(d time.Duration) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// newFlow wires the nodes:
//
//	check -+- decide -+- order
//	       |   ^ | |
//	       |   +-+ +--- close
//	       +- order
//
// decide asks one person at a time, and runs again while it takes more of them.
func newFlow(o office, saver checkpoint.Saver, opts ...graph.Option) (*flow, error) {
	g := graph.New("approval", StateSchema)
	g.Node(NodeCheck, o.check)
	g.Node(NodeDecide, o.decide, approve)
	g.Node(NodeOrder, o.order)
	g.Node(NodeClose, o.close)
	g.Edge(graph.Start, NodeCheck)
	g.Route(NodeCheck, o.next, NodeDecide, NodeOrder, NodeClose)
	g.Route(NodeDecide, o.next, NodeDecide, NodeOrder, NodeClose)
	g.Edge(NodeOrder, graph.End)
	g.Edge(NodeClose, graph.End)
	return g.Compile(append(opts, graph.Saver(saver), graph.Lease(lease))...)
}

func (o office) check(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	switch n := approvers(s.Purchase.Cents); n {
	case 0:
		u.Log.Append(fmt.Sprintf("%s costs %s: nobody has to approve it", s.Purchase.Item, price(s.Purchase.Cents)))
	case 1:
		u.Log.Append(fmt.Sprintf("%s costs %s: one person has to approve it", s.Purchase.Item, price(s.Purchase.Cents)))
	default:
		u.Log.Append(fmt.Sprintf("%s costs %s: %d people have to approve it", s.Purchase.Item, price(s.Purchase.Cents), n))
	}
	return u, nil
}

func (o office) decide(ctx context.Context, s State) (StateUpdate, error) {
	q := s.Purchase
	for _, v := range s.Votes {
		q.Approved = append(slices.Clip(q.Approved), v.By)
	}
	vote, err := approve.Ask(ctx, q)
	if err != nil {
		return StateUpdate{}, err // no answer yet: decide runs again after the answer
	}
	var u StateUpdate
	if vote.OK && sameName(vote.By, q.By) {
		u.Log.Append(vote.By + " cannot approve a request of their own")
		return u, nil
	}
	if vote.OK && slices.ContainsFunc(q.Approved, func(by string) bool { return sameName(by, vote.By) }) {
		u.Log.Append(vote.By + " has approved it already: somebody else has to")
		return u, nil
	}
	line := vote.By + " denied it"
	if vote.OK {
		line = vote.By + " approved it"
	}
	if vote.Note != "" {
		line += ": " + vote.Note
	}
	u.Votes.Append(vote)
	u.Log.Append(line)
	return u, nil
}

// next returns the successors for the votes so far.
func (o office) next(_ context.Context, s State) (graph.Next, error) {
	for _, v := range s.Votes {
		if !v.OK {
			return graph.To(NodeClose), nil
		}
	}
	if len(s.Votes) < approvers(s.Purchase.Cents) {
		return graph.To(NodeDecide), nil
	}
	return graph.To(NodeOrder), nil
}

// order performs the steps of the order and reports its progress.
func (o office) order(ctx context.Context, s State) (StateUpdate, error) {
	for _, step := range []string{"asking for offers", "comparing offers", "writing the order"} {
		graph.Emit(ctx, step)
		if o.pause == nil {
			continue
		}
		if err := o.pause(ctx); err != nil {
			return StateUpdate{}, err
		}
	}
	var u StateUpdate
	u.Outcome.Set(Ordered)
	u.Log.Append(s.Purchase.Item + " is ordered")
	return u, nil
}

func (o office) close(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Outcome.Set(Denied)
	u.Log.Append(s.Purchase.Item + " is not bought")
	return u, nil
}

// approvers returns how many people must approve a price.
func approvers(cents int64) int {
	switch {
	case cents >= twoPrice:
		return 2
	case cents >= onePrice:
		return 1
	}
	return 0
}

func sameName(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func price(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
