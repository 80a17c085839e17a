package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A worker of the queue "gpu" runs the heavy node. Usually it is another process, with QueuesOnly.
func ExampleQueue() {
	b := graph.New("letters", TicketSchema)
	b.Node("write", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("Dear Ada")}, nil
	}, graph.Queue("gpu"))
	b.Chain(graph.Start, "write", graph.End)
	saver := memory.New()
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	letter := app.Thread("letter-1")
	res, err := letter.Invoke(ctx, TicketUpdate{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, "at", res.Next)

	w := worker.New(saver, worker.Options{Queues: map[string]int{"gpu": 2}, OnEvent: func(e worker.Event) {
		if e.Kind == worker.EventEnded && e.Status == graph.Done {
			stop()
		}
	}}, app)
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
	snap, err := letter.State(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(snap.Status, snap.State.Log)
	// Output:
	// waiting at [write]
	// done [Dear Ada]
}
