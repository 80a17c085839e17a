package main

import (
	"context"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// shipment follows the number of an order in the id of the thread of its shipment.
const shipment = "/shipment"

// newShipments returns the graph of a shipment, which the order begins as its child. The shipment
// has its own history and its own attempts.
func newShipments(partners client, saver checkpoint.Saver, opts ...graph.Option) (*flow, error) {
	g := graph.New("shipments", StateSchema)
	g.Node("pickup", func(ctx context.Context, st State) (StateUpdate, error) {
		return outcome(partners.post(ctx, "pickups", st.Order), Shipped, "the parcel is with the carrier")
	}, graph.Retry(graph.RetryPolicy{Attempts: 3}))
	g.Chain(graph.Start, "pickup", graph.End)
	return g.Compile(append(opts, graph.Saver(saver))...)
}

// orderOf returns the number of the order of a thread.
func orderOf(thread string) string {
	order, _, _ := strings.Cut(thread, shipment)
	return order
}
