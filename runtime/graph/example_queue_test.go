package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A worker of the queue "gpu" runs the heavy node. Its tokens reach the stream of the run. Usually
// the worker is another process, in which package worker calls ServeQueue.
func ExampleQueue() {
	b := graph.New("letters", TicketSchema)
	b.Node("write", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		for _, token := range []string{"Dear", "Ada"} {
			graph.Emit(ctx, wire.String(token))
		}
		return TicketUpdate{Log: state.Append("Dear Ada")}, nil
	}, graph.Queue("gpu"), graph.Emits[wire.String]())
	b.Chain(graph.Start, "write", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- app.ServeQueue(ctx, graph.Serving{Queue: "gpu", Slots: 2}) }()

	for e, err := range app.Thread("letter-1").Stream(ctx, TicketUpdate{}, graph.Events(graph.EventCustom)) {
		switch {
		case err != nil:
			log.Fatal(err)
		case e.Kind == graph.EventCustom:
			fmt.Println("token", e.Custom)
		case e.Kind == graph.EventRunEnded:
			fmt.Println(e.Status, e.Result.State.Log)
		}
	}
	stop()
	if err := <-served; err != nil {
		log.Fatal(err)
	}
	// Output:
	// token Dear
	// token Ada
	// done [Dear Ada]
}
