// Step 1 of the tutorial: a state, two nodes and a run.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=State

// State is the state of one refund.
type State struct {
	Order string
	Cents int64
	Log   []string `graph:"append"`
}

// prices contains the price of each order, in cents.
var prices = map[string]int64{"A-1": 1900, "A-2": 12900, "R-1": 2500}

func lookup(_ context.Context, s State) (StateUpdate, error) {
	price, ok := prices[s.Order]
	if !ok {
		return StateUpdate{}, fmt.Errorf("there is no order %q", s.Order)
	}
	var u StateUpdate
	u.Cents.Set(price)
	u.Log.Append("looked up " + s.Order)
	return u, nil
}

func pay(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Log.Append(fmt.Sprintf("paid %d cents", s.Cents))
	return u, nil
}

func newRefund() (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("refund", StateSchema)
	g.Node("lookup", lookup)
	g.Node("pay", pay)
	g.Edge(graph.Start, "lookup")
	g.Edge("lookup", "pay")
	g.Edge("pay", graph.End)
	return g.Compile()
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, order string) error {
	app, err := newRefund()
	if err != nil {
		return err
	}
	res, err := app.Run(ctx, StateUpdate{Order: state.Set(order)})
	if err != nil {
		return err
	}
	fmt.Println(res.Status, res.State.Log)
	return nil
}
