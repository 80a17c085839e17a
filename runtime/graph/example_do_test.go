package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A node pays, and then fails. When it runs again, it does not pay again.
func ExampleDo() {
	failed := false
	b := graph.New("orders", TicketSchema)
	b.Node("pay", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		receipt, err := graph.Do(ctx, "charge", func(context.Context) (wire.String, error) {
			fmt.Println("the bank is called")
			return "receipt 17", nil
		})
		if err != nil {
			return u, err
		}
		if !failed {
			failed = true
			return u, errors.New("the printer is out of paper")
		}
		u.Log.Append(string(receipt))
		return u, nil
	})
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}

	ctx, t := context.Background(), app.Thread("order-7")
	_, err = t.Invoke(ctx, TicketUpdate{})
	fmt.Println(err)
	res, err := t.Resume(ctx)
	fmt.Println(res.Status, res.State.Log, err)
	// Output:
	// the bank is called
	// graph: orders: thread "order-7": step 2: node "pay": the printer is out of paper
	// done [receipt 17] <nil>
}
