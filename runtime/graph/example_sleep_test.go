package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A node waits for a day. Nothing is in memory meanwhile.
func ExampleSleep() {
	b := graph.New("orders", TicketSchema)
	b.Node("remind", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		if err := graph.Sleep(ctx, 24*time.Hour); err != nil {
			return u, err
		}
		u.Log.Append("reminded")
		return u, nil
	})
	b.Edge(graph.Start, "remind")
	b.Edge("remind", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Thread("order-7").Invoke(context.Background(), TicketUpdate{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Timers[0].Node, time.Until(res.Timers[0].Due).Round(time.Hour))
	// Output: waiting remind 24h0m0s
}

// A question that nobody answers in time. The node decides what that means.
func ExampleExpireAfter() {
	approve := graph.NewQuestion[wire.String, wire.Bool]("approve")
	b := graph.New("orders", TicketSchema)
	b.Node("review", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		ok, err := approve.Ask(ctx, "pay?", graph.ExpireAfter(time.Microsecond))
		if errors.Is(err, graph.ErrExpired) {
			u.Log.Append("refused: nobody answered")
			return u, nil
		}
		u.Log.Append(fmt.Sprint("approved: ", ok))
		return u, err
	}, approve)
	b.Edge(graph.Start, "review")
	b.Edge("review", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	thread := app.Thread("order-7")
	res, err := thread.Invoke(context.Background(), TicketUpdate{})
	for err == nil && res.Status == graph.Waiting {
		res, err = thread.Resume(context.Background())
	}
	fmt.Println(res.State.Log, err)
	// Output: [refused: nobody answered] <nil>
}
