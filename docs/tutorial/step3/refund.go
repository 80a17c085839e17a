package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

//go:generate go tool graphgen -type=State

// State is the state of one refund.
type State struct {
	Order string
	Cents int64
	Risk  int `graph:"max"` // the highest risk that a node found, from 0 to 10
	Pay   bool
	Log   []string `graph:"append"`
}

// prices contains the price of each order, in cents.
var prices = map[string]int64{"A-1": 1900, "A-2": 12900, "R-1": 2500}

func lookup(_ context.Context, s State) (StateUpdate, error) {
	fmt.Println("lookup runs")
	price, ok := prices[s.Order]
	if !ok {
		return StateUpdate{}, fmt.Errorf("there is no order %q", s.Order)
	}
	var u StateUpdate
	u.Cents.Set(price)
	if price > 10000 {
		u.Risk.Offer(3)
	}
	u.Log.Append("looked up " + s.Order)
	return u, nil
}

func customer(_ context.Context, s State) (StateUpdate, error) {
	fmt.Println("customer runs")
	var u StateUpdate
	if strings.HasPrefix(s.Order, "R-") { // the customer has returned many orders
		u.Risk.Offer(9)
	}
	u.Log.Append("checked the customer")
	return u, nil
}

func decide(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Pay.Set(s.Risk <= 5)
	u.Log.Append(fmt.Sprintf("the risk is %d", s.Risk))
	return u, nil
}

func choose(_ context.Context, s State) (graph.Next, error) {
	if s.Pay {
		return graph.To("pay"), nil
	}
	return graph.To("refuse"), nil
}

func pay(ctx context.Context, s State) (StateUpdate, error) {
	fmt.Println("pay runs")
	// The name of the file identifies the payment. Writing the same file again pays nothing more.
	name := filepath.Join("bank", graph.CurrentTask(ctx).Key)
	if err := os.WriteFile(name, []byte(s.Order), 0o600); err != nil {
		return StateUpdate{}, err
	}
	var u StateUpdate
	u.Log.Append(fmt.Sprintf("paid %d cents", s.Cents))
	return u, nil
}

func refuse(_ context.Context, _ State) (StateUpdate, error) {
	var u StateUpdate
	u.Log.Append("refused")
	return u, nil
}

func newRefund(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("refund", StateSchema)
	g.Node("lookup", lookup)
	g.Node("customer", customer)
	g.Node("decide", decide)
	g.Node("pay", pay)
	g.Node("refuse", refuse)

	g.Edge(graph.Start, "lookup")
	g.Edge(graph.Start, "customer")
	g.Join([]graph.ID{"lookup", "customer"}, "decide")
	g.Route("decide", choose, "pay", "refuse")
	g.Edge("pay", graph.End)
	g.Edge("refuse", graph.End)
	return g.Compile(graph.Saver(saver))
}
