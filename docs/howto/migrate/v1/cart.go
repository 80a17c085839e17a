// Package v1 is the program before the change.
package v1

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

//go:generate go tool graphgen -type=State

// State is the state of a cart.
type State struct {
	Item  string
	Price string // such as 12.50
	Note  string
	Log   []string `graph:"append"`
}

// NewCart returns a graph that stops before it orders.
func NewCart(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("cart", StateSchema)
	g.Node("check", func(_ context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		u.Log.Append("checked " + s.Item + " for " + s.Price)
		return u, nil
	})
	g.Node("order", func(_ context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		u.Log.Append("ordered for " + s.Price)
		return u, nil
	})
	g.Edge(graph.Start, "check")
	g.Edge("check", "order")
	g.Edge("order", graph.End)
	return g.Compile(graph.Saver(saver), graph.InterruptBefore("order"))
}
