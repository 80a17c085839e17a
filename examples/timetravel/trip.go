package main

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The nodes.
const (
	NodeFlight  graph.ID = "flight"
	NodeHotel   graph.ID = "hotel"
	NodeTours   graph.ID = "tours"
	NodeCheaper graph.ID = "cheaper"
	NodeConfirm graph.ID = "confirm"
	NodeGiveUp  graph.ID = "giveup"
)

// hotels lists the hotels, the most expensive first.
var hotels = [...]struct {
	name  string
	euros int64 // for each night
}{{"Grand Hotel", 180}, {"Pension Rosa", 95}, {"Hostel", 40}}

// flights lists prices by city; other cities cost otherFlight.
var flights = map[string]int64{"Lisbon": 210, "Rome": 160, "Oslo": 240}

const otherFlight = 400

// newTrip wires the nodes:
//
//	flight -+
//	        +- tours -+- confirm
//	hotel  -+         +- cheaper (again, until it fits the budget)
//	                  +- giveup
func newTrip(saver checkpoint.Saver, opts ...graph.Option) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("trip", StateSchema)
	g.Node(NodeFlight, flight)
	g.Node(NodeHotel, hotel)
	g.Node(NodeTours, tours)
	g.Node(NodeCheaper, cheaper)
	g.Node(NodeConfirm, confirm)
	g.Node(NodeGiveUp, giveUp)
	g.Edge(graph.Start, NodeFlight)
	g.Edge(graph.Start, NodeHotel)
	g.Join([]graph.ID{NodeFlight, NodeHotel}, NodeTours)
	g.Route(NodeTours, afford, NodeConfirm, NodeCheaper, NodeGiveUp)
	g.Route(NodeCheaper, afford, NodeConfirm, NodeCheaper, NodeGiveUp)
	g.Edge(NodeConfirm, graph.End)
	g.Edge(NodeGiveUp, graph.End)
	return g.Compile(append(opts, graph.Saver(saver))...)
}

func flight(_ context.Context, s State) (StateUpdate, error) {
	euros, ok := flights[s.City]
	if !ok {
		euros = otherFlight
	}
	var u StateUpdate
	u.Booked.Upsert(Item{Kind: "flight", Name: "to " + s.City, Euros: euros})
	u.Facts.Put("flight", fmt.Sprintf("%d euros there and back", euros))
	u.Tags.Add("by air")
	u.Log.Append("found a flight to " + s.City)
	return u, nil
}

func hotel(_ context.Context, s State) (StateUpdate, error) {
	h := hotels[0]
	var u StateUpdate
	u.Booked.Upsert(Item{Kind: "hotel", Name: h.name, Euros: h.euros * int64(s.Days)})
	u.Facts.Put("hotel", fmt.Sprintf("%d nights in the %s", s.Days, h.name))
	u.Log.Append("found the " + h.name)
	return u, nil
}

func tours(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Booked.Upsert(Item{Kind: "tours", Name: "a walk a day", Euros: 20 * int64(s.Days)})
	u.Dear.Offer(s.total() + 20*int64(s.Days))
	u.Tags.Add("on foot")
	u.Log.Append(fmt.Sprintf("found %d walks", s.Days))
	return u, nil
}

// cheaper books the next cheaper hotel.
func cheaper(_ context.Context, s State) (StateUpdate, error) {
	h := hotels[min(s.Tries+1, len(hotels)-1)]
	var u StateUpdate
	u.Booked.Upsert(Item{Kind: "hotel", Name: h.name, Euros: h.euros * int64(s.Days)})
	u.Facts.Put("hotel", fmt.Sprintf("%d nights in the %s", s.Days, h.name))
	u.Tags.Add("thrifty")
	u.Tries.Add(1)
	u.Log.Append(fmt.Sprintf("%d is over the budget of %d: took the %s", s.total(), s.Budget, h.name))
	return u, nil
}

// afford selects the next node by the price of the trip.
func afford(_ context.Context, s State) (graph.Next, error) {
	switch {
	case s.total() <= s.Budget:
		return graph.To(NodeConfirm), nil
	case s.Tries+1 < len(hotels):
		return graph.To(NodeCheaper), nil
	}
	return graph.To(NodeGiveUp), nil
}

func confirm(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Ready.Set(true)
	u.Log.Append(fmt.Sprintf("%s for %d euros", s.City, s.total()))
	return u, nil
}

func giveUp(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Ready.Set(false)
	u.Log.Append(fmt.Sprintf("%s cannot be had for %d euros", s.City, s.Budget))
	return u, nil
}
