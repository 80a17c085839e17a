package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A node waits for a payment. The event can come before or after the node asks for it.
func ExampleSignal() {
	paid := graph.NewSignal[wire.String]("paid")
	b := graph.New("orders", TicketSchema)
	b.Node("ship", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		receipt, err := paid.Receive(ctx)
		if err != nil {
			return u, err
		}
		u.Log.Append("paid: " + string(receipt))
		return u, nil
	}, paid)
	b.Edge(graph.Start, "ship")
	b.Edge("ship", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, thread := context.Background(), app.Thread("order-7")
	res, err := thread.Invoke(ctx, TicketUpdate{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Signals)
	if err := thread.Signal(ctx, paid.With("receipt 12", graph.RequestID("evt_1"))); err != nil {
		log.Fatal(err)
	}
	res, err = thread.Resume(ctx) // a worker does that, too
	fmt.Println(res.Status, res.State.Log, err)
	// Output:
	// waiting [paid at ship]
	// done [paid: receipt 12] <nil>
}
