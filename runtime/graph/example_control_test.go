package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A node labels its thread with the phase that it has reached. A list finds the thread by it.
func ExampleSetLabel() {
	ctx, saver := context.Background(), memory.New()
	b := graph.New("tickets", TicketSchema)
	b.Node("triage", func(ctx context.Context, s Ticket) (u TicketUpdate, err error) {
		return u, graph.SetLabel(ctx, "phase", "triaged as "+s.Status)
	})
	b.Chain(graph.Start, "triage", graph.End)
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	for thread, status := range map[string]string{"ticket-1": "urgent", "ticket-2": "minor"} {
		if _, err := app.Thread(thread).Invoke(ctx, TicketUpdate{Status: state.Set(status)}); err != nil {
			log.Fatal(err)
		}
	}
	q := checkpoint.ThreadQuery{Labels: map[string]string{"phase": "triaged as urgent"}}
	for t, err := range saver.Threads(ctx, q) {
		fmt.Println(t.ID, t.Status, err)
	}
	// Output: ticket-1 done <nil>
}

// A cancel that comes during a charge takes effect after the charge is stored.
func ExampleUncancellable() {
	ctx := context.Background()
	charging, cancelled := make(chan bool), make(chan bool)
	b := graph.New("tickets", TicketSchema)
	b.Node("charge", func(ctx context.Context, _ Ticket) (u TicketUpdate, err error) {
		close(charging)
		<-cancelled
		u.Log.Append("charged")
		return u, ctx.Err()
	}, graph.Uncancellable())
	b.Node("ship", func(ctx context.Context, _ Ticket) (u TicketUpdate, err error) {
		<-ctx.Done() // the cancel ends the context of this node
		return u, ctx.Err()
	})
	b.Chain(graph.Start, "charge", "ship", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		<-charging
		if err := app.Thread("ticket-1").Cancel(ctx, "refunded"); err != nil {
			log.Print(err)
		}
		close(cancelled)
	}()
	res, _ := app.Thread("ticket-1").Invoke(ctx, TicketUpdate{})
	fmt.Println(res.Status, res.State.Log)
	// Output: cancelled [charged]
}

// A program ends the run of one thread after its current superstep. The thread stays due.
func ExampleThread_Drain() {
	ctx := context.Background()
	started, release := make(chan bool), make(chan bool)
	b := graph.New("tickets", TicketSchema)
	b.Node("read", func(context.Context, Ticket) (u TicketUpdate, err error) {
		close(started)
		<-release
		u.Log.Append("read")
		return u, nil
	})
	b.Node("reply", func(context.Context, Ticket) (u TicketUpdate, err error) {
		u.Log.Append("replied")
		return u, nil
	})
	b.Chain(graph.Start, "read", "reply", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan graph.Result[Ticket])
	go func() {
		res, err := app.Thread("ticket-1").Invoke(ctx, TicketUpdate{})
		if err != nil {
			log.Print(err)
		}
		ended <- res
	}()
	<-started
	now, stop := context.WithCancel(ctx)
	stop() // Drain asks the run to end, and does not wait
	_ = app.Thread("ticket-1").Drain(now)
	close(release)
	res := <-ended
	fmt.Println(res.Status, res.State.Log)
	res, err = app.Thread("ticket-1").Resume(ctx)
	fmt.Println(res.Status, res.State.Log, err)
	// Output:
	// ready [read]
	// done [read replied] <nil>
}
