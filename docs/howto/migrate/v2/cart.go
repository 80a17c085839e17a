// Package v2 is the program after the change.
package v2

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=State

// State is the state of a cart.
type State struct {
	Item     string
	Price    int64    // in cents
	Currency string   // a new field
	Remark   string   `graph:"was=Note"` // a renamed field
	Log      []string `graph:"append"`
}

// Migrate reads a price that version 1 stored as text.
func (s *State) Migrate(from *state.OldFields) error {
	if text, ok := from.String("Price"); ok {
		price, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("the price of %s: %w", s.Item, err)
		}
		s.Price = int64(math.Round(price * 100))
		s.Currency = "EUR" // all old carts are in euros
	}
	return nil
}

// NewCart returns a graph that stops before it orders.
func NewCart(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("cart", StateSchema)
	g.Node("check", func(_ context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		u.Log.Append(fmt.Sprintf("checked %s for %d cents", s.Item, s.Price))
		return u, nil
	})
	g.Node("order", func(_ context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		u.Log.Append(fmt.Sprintf("ordered for %d %s cents", s.Price, s.Currency))
		return u, nil
	})
	g.Edge(graph.Start, "check")
	g.Edge("check", "order")
	g.Edge("order", graph.End)
	return g.Compile(graph.Saver(saver), graph.InterruptBefore("order"))
}
