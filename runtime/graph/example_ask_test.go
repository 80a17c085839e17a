package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A caller sends a coupon to an order, and waits until the node has accepted it. A
// worker runs the thread.
func ExampleReplySignal() {
	coupon := graph.NewReplySignal[wire.String, wire.Bool]("coupon")
	saver := memory.New()
	b := graph.New("orders", TicketSchema)
	b.Node("price", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		c, err := coupon.Receive(ctx)
		if err != nil {
			return u, err
		}
		u.Log.Append("coupon " + string(c.Value))
		return u, c.Reply(ctx, true)
	}, coupon)
	b.Edge(graph.Start, "price")
	b.Edge("price", graph.End)
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	worked := make(chan error, 1)
	go func() { worked <- worker.New(saver, worker.Options{}, app).Run(ctx) }() // usually in another process
	thread := app.Thread("order-7")
	if _, err := thread.Submit(ctx, TicketUpdate{}); err != nil {
		log.Fatal(err)
	}
	accepted, err := coupon.Ask(ctx, thread, "SPRING", graph.RequestID("form-1"))
	fmt.Println(accepted, err)
	stop()
	if err := <-worked; err != nil {
		log.Fatal(err)
	}
	// Output: true <nil>
}
