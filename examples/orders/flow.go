package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// name is the name of the graph, which the saver stores with each thread.
const name = "orders"

// The nodes.
const (
	NodeReserve  graph.ID = "reserve"
	NodePay      graph.ID = "pay"
	NodeCharge   graph.ID = "charge"
	NodePack     graph.ID = "pack"
	NodeHandOver graph.ID = "handover"
	NodeRecall   graph.ID = "recall"
	NodeRefund   graph.ID = "refund"
	NodeRelease  graph.ID = "release"
)

// carriers is the queue of the parcels. Packing is the heavy step: a pool of processes does it.
const carriers = "carriers"

// paid is sent by the bank when a customer has paid.
var paid = graph.NewSignal[Payment]("paid")

// flow is the graph of an order.
type flow = graph.Graph[State, StateUpdate]

// shop contains the nodes as methods. Each node calls one partner, at most once.
type shop struct {
	partners  client
	payWithin time.Duration // the time that a customer has to pay
	shipments *flow
}

// newFlow wires the nodes:
//
//	reserve -> pay -> charge -> pack -> handover
//
// If a partner refuses, nobody pays in time or the customer cancels, refund and release undo the
// steps before. They run concurrently. A cancel begins with recall, because the parcel can be
// with the carrier already.
func newFlow(s shop, saver checkpoint.Saver, opts ...graph.Option) (*flow, error) {
	// Partners fail now and then. A node that still fails is run again by the worker, later.
	retry := graph.Retry(graph.RetryPolicy{Attempts: 3})
	g := graph.New(name, StateSchema)
	g.Node(NodeReserve, s.reserve, retry)
	g.Node(NodePay, s.pay, paid)
	g.Node(NodeCharge, s.charge, retry)
	// Release 2 had one node for both. An order that is due there is packed first.
	g.Node(NodePack, s.pack, retry, graph.Queue(carriers), graph.FormerIDs("ship"))
	g.Node(NodeHandOver, s.handOver, retry)
	g.Node(NodeRecall, s.recall, retry)
	g.Node(NodeRefund, s.refund, retry)
	g.Node(NodeRelease, s.release, retry)

	g.Route(graph.Start, begin, NodeReserve, NodeRecall, graph.End)
	g.Route(NodeReserve, unlessLost(NodePay), NodePay, NodeRefund, NodeRelease)
	g.Route(NodePay, unlessLost(NodeCharge), NodeCharge, NodeRefund, NodeRelease)
	g.Route(NodeCharge, unlessLost(NodePack), NodePack, NodeRefund, NodeRelease)
	g.Route(NodePack, packed, NodeHandOver, graph.End, NodeRefund, NodeRelease)
	g.Route(NodeHandOver, unlessLost(graph.End), graph.End, NodeRefund, NodeRelease)
	g.Route(NodeRecall, unlessLost(graph.End), graph.End, NodeRefund, NodeRelease)
	g.Edge(NodeRefund, graph.End)
	g.Edge(NodeRelease, graph.End)
	return g.Compile(append(opts, graph.Saver(saver))...)
}

// begin chooses the first node for an input: an order or its cancel.
func begin(_ context.Context, s State) (graph.Next, error) {
	switch {
	case !s.Cancelled:
		return graph.To(NodeReserve), nil
	case s.Outcome == Shipped:
		return graph.To(graph.End), nil // too late
	}
	return graph.To(NodeRecall), nil
}

// unlessLost returns a route to next. If the order is lost, it leads to the nodes that undo it.
func unlessLost(next graph.ID) func(context.Context, State) (graph.Next, error) {
	return func(_ context.Context, s State) (graph.Next, error) {
		if s.Outcome == "" || s.Outcome == Shipped {
			return graph.To(next), nil
		}
		return graph.To(NodeRefund, NodeRelease), nil
	}
}

// packed is the route after pack. If release 2 has done the task, the parcel is with the carrier.
func packed(ctx context.Context, s State) (graph.Next, error) {
	if s.Outcome == Shipped {
		return graph.To(graph.End), nil
	}
	return unlessLost(NodeHandOver)(ctx, s)
}

func (s shop) reserve(ctx context.Context, st State) (StateUpdate, error) {
	return outcome(s.partners.post(ctx, "stock", st.Order), "", "the goods are reserved")
}

// pay waits for the payment. The run ends meanwhile, and nothing is in memory. A payment can also
// come before this node runs, or before the order.
func (s shop) pay(ctx context.Context, _ State) (StateUpdate, error) {
	var u StateUpdate
	p, err := paid.Receive(ctx, graph.ExpireAfter(s.payWithin))
	switch {
	case errors.Is(err, graph.ErrExpired):
		u.Outcome.Set(Expired)
		u.Log.Append(fmt.Sprintf("nobody paid within %s", s.payWithin))
	case err != nil:
		return u, err
	default:
		u.PaidBy.Set(p.Card)
		u.Paid.Set(time.Now())
	}
	return u, nil
}

func (s shop) charge(ctx context.Context, st State) (StateUpdate, error) {
	return outcome(s.partners.post(ctx, "charges", charge{st.PaidBy, st.Order.Cents}), "", "the card is charged")
}

func (s shop) pack(ctx context.Context, st State) (StateUpdate, error) {
	return outcome(s.partners.post(ctx, "parcels", st.Order), "", "the parcel is packed")
}

// handOver begins the shipment, and waits for its end. The run ends meanwhile.
func (s shop) handOver(ctx context.Context, st State) (StateUpdate, error) {
	order := graph.CurrentTask(ctx).Thread
	end, err := graph.Child(ctx, s.shipments, order+shipment, StateUpdate{Order: state.Set(st.Order)})
	if err != nil {
		return StateUpdate{}, err // graph.ErrWaiting until the shipment has ended
	}
	return StateUpdate{Outcome: state.Set(end.Outcome), Log: state.Append(end.Log...)}, nil
}

// recall takes the parcel back. The carrier refuses that for a parcel that has left.
func (s shop) recall(ctx context.Context, _ State) (StateUpdate, error) {
	var u StateUpdate
	err := s.partners.undo(ctx, "parcels")
	var refused refusal
	switch {
	case errors.As(err, &refused):
		u.Outcome.Set(Shipped)
		u.Log.Append("too late to cancel: " + string(refused))
	case err != nil:
		return u, err
	default:
		u.Outcome.Set(Cancelled)
		u.Log.Append("the customer has cancelled")
	}
	return u, nil
}

func (s shop) refund(ctx context.Context, _ State) (StateUpdate, error) {
	return outcome(s.partners.undo(ctx, "charges"), "", "no money is taken or kept")
}

func (s shop) release(ctx context.Context, _ State) (StateUpdate, error) {
	return outcome(s.partners.undo(ctx, "stock"), "", "no goods are reserved")
}

// outcome returns the update after a call of a partner. A refusal is an outcome of the order. Any
// other error is temporary.
func outcome(err error, success Outcome, line string) (StateUpdate, error) {
	var u StateUpdate
	var refused refusal
	switch {
	case errors.As(err, &refused):
		u.Outcome.Set(Refused)
		u.Log.Append(string(refused))
	case err != nil:
		return u, err
	default:
		if success != "" {
			u.Outcome.Set(success)
		}
		u.Log.Append(line)
	}
	return u, nil
}
