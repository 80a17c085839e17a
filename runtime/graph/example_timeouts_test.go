package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// The node waits for an answer that does not come. Usually the time is a day, and not a
// millisecond.
func ExampleExecutionTimeout() {
	b := graph.New("offers", TicketSchema)
	b.Node("wait", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		<-ctx.Done()
		return TicketUpdate{}, ctx.Err()
	})
	b.Chain(graph.Start, "wait", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Thread("offer-1").Invoke(context.Background(), TicketUpdate{}, graph.ExecutionTimeout(time.Millisecond))
	fmt.Println(res.Status, errors.Is(err, graph.ErrExecutionTimeout))
	// Output: cancelled true
}

// No worker serves the queue, so the fallback does the work.
func ExampleStartTimeout() {
	b := graph.New("pictures", TicketSchema)
	b.Node("render", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("in colour")}, nil
	}, graph.Queue("gpu"), graph.StartTimeout(time.Millisecond))
	b.Fallback("render", func(_ context.Context, _ Ticket, err error) (TicketUpdate, error) {
		if !errors.Is(err, graph.ErrStartTimeout) {
			return TicketUpdate{}, err
		}
		return TicketUpdate{Log: state.Append("in grey")}, nil
	})
	b.Chain(graph.Start, "render", graph.End)
	saver := memory.New()
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	picture := app.Thread("picture-1")
	if _, err := picture.Submit(ctx, TicketUpdate{}); err != nil {
		log.Fatal(err)
	}
	w := worker.New(saver, worker.Options{OnEvent: func(e worker.Event) { // it serves no queue
		if e.Kind == worker.EventEnded && e.Status == graph.Done {
			stop()
		}
	}}, app)
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
	snap, err := picture.State(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(snap.Status, snap.State.Log)
	// Output: done [in grey]
}
