package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// One process submits an input and waits for its result. Another one runs it.
func ExampleThread_Result() {
	saver := memory.New()
	b := graph.New("orders", TicketSchema)
	b.Node("ship", func(context.Context, Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		u.Log.Append("shipped")
		return u, nil
	})
	b.Chain(graph.Start, "ship", graph.End)
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	ctx, thread := context.Background(), app.Thread("order-7")
	if _, err := thread.Submit(ctx, TicketUpdate{}); err != nil {
		log.Fatal(err)
	}
	go func() { // a worker does that, usually in another process
		due, err := saver.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"orders"}, Limit: 1})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := app.ResumeDue(ctx, due.Threads[0], graph.DueOptions{}); err != nil {
			log.Fatal(err)
		}
	}()
	res, err := thread.Result(ctx)
	fmt.Println(res.Status, res.State.Log, err)
	// Output:
	// done [shipped] <nil>
}
