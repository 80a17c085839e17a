package graph_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

//go:generate go tool graphgen -type=Ticket

// Ticket is the state of the graphs in the examples.
type Ticket struct {
	Status string
	Count  int      `graph:"sum"`
	Log    []string `graph:"append"`
}

// A graph of two nodes, run on a thread that is kept in memory.
func Example() {
	b := graph.New("greeting", TicketSchema)
	b.Node("greet", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		u.Log.Append("hello, " + s.Status)
		return u, nil
	})
	b.Node("shout", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		u.Log.Append(strings.ToUpper(s.Log[len(s.Log)-1]))
		return u, nil
	})
	b.Edge(graph.Start, "greet")
	b.Edge("greet", "shout")
	b.Edge("shout", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}

	res, err := app.Thread("t-1").Invoke(context.Background(), TicketUpdate{Status: state.Set("world")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output: done [hello, world HELLO, WORLD]
}

// A run stops for a person, who edits the state, and then continues.
func ExampleInterruptBefore() {
	b := graph.New("refunds", TicketSchema)
	b.Node("propose", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Status: state.Set("refund 40")}, nil
	})
	b.Node("pay", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("paid: " + s.Status)}, nil
	})
	b.Edge(graph.Start, "propose")
	b.Edge("propose", "pay")
	b.Edge("pay", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()), graph.InterruptBefore("pay"))
	if err != nil {
		log.Fatal(err)
	}

	ctx, t := context.Background(), app.Thread("case-7")
	res, err := t.Invoke(ctx, TicketUpdate{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, "before", res.Next)

	// IfHead: nobody else has decided meanwhile.
	edit := TicketUpdate{Status: state.Set("refund 25")}
	if _, err := t.UpdateState(ctx, edit, graph.IfHead(res.Checkpoint)); err != nil {
		log.Fatal(err)
	}
	res, err = t.Resume(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output:
	// paused before [pay]
	// done [paid: refund 25]
}

// The history of a thread, newest first.
func ExampleThread_History() {
	b := graph.New("count", TicketSchema)
	b.Node("add", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Count: state.Add(1)}, nil
	})
	b.Edge(graph.Start, "add")
	b.Route("add", func(_ context.Context, s Ticket) (graph.Next, error) {
		if s.Count < 3 {
			return graph.To("add"), nil
		}
		return graph.To(graph.End), nil
	}, "add", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, t := context.Background(), app.Thread("t-1")
	if _, err := t.Invoke(ctx, TicketUpdate{}); err != nil {
		log.Fatal(err)
	}
	for snap, err := range t.History(ctx, checkpoint.Query{Limit: 3}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(snap.Step, snap.Source, snap.State.Count, snap.Next)
	}
	// Output:
	// 4 loop 3 []
	// 3 loop 2 [add]
	// 2 loop 1 [add]
}

// A stream yields the events of a run while it runs.
func ExampleThread_Stream() {
	b := graph.New("stream", TicketSchema)
	for _, id := range []graph.ID{"one", "two"} {
		b.Node(id, func(context.Context, Ticket) (TicketUpdate, error) {
			return TicketUpdate{Log: state.Append(string(id))}, nil
		})
	}
	b.Edge(graph.Start, "one")
	b.Edge("one", "two")
	b.Edge("two", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range app.Thread("t-1").Stream(context.Background(), TicketUpdate{}) {
		if err != nil {
			log.Fatal(err)
		}
		switch e.Kind {
		case graph.EventUpdate:
			fmt.Println(e.Node, e.Update)
		case graph.EventRunEnded:
			fmt.Println(e.Result.Status)
		}
	}
	// Output:
	// one TicketUpdate{Log: append [one]}
	// two TicketUpdate{Log: append [two]}
	// done
}

// A program reads the state that a released version of a thread ended with.
func ExampleThread_Version() {
	b := graph.New("tickets", TicketSchema)
	b.Node("close", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Status: state.Set("closed")}, nil
	})
	b.Edge(graph.Start, "close")
	b.Edge("close", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()), graph.ReleaseOnDone())
	if err != nil {
		log.Fatal(err)
	}
	ctx, t := context.Background(), app.Thread("ticket-17")
	for range 2 { // each run is a version
		if _, err := t.Invoke(ctx, TicketUpdate{Count: state.Add(1)}); err != nil {
			log.Fatal(err)
		}
	}
	snap, err := t.Version(1).State(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(snap.Version, snap.State.Count, snap.State.Status)
	// Output: 1 1 closed
}
