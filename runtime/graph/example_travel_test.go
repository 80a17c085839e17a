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

// A fork goes back to a checkpoint, edits its state and runs from there. The history keeps both.
func ExampleThread_At() {
	b := graph.New("quote", TicketSchema)
	b.Node("price", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Count: state.Add(100)}, nil
	})
	b.Node("quote", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append(fmt.Sprint("the price is ", s.Count))}, nil
	})
	b.Chain(graph.Start, "price", "quote", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}

	ctx, t := context.Background(), app.Thread("quote-3")
	if _, err := t.Invoke(ctx, TicketUpdate{}); err != nil {
		log.Fatal(err)
	}
	var before checkpoint.ID // the checkpoint before the node quote ran
	for snap, err := range t.History(ctx, checkpoint.Query{Next: "quote", Limit: 1}) {
		if err != nil {
			log.Fatal(err)
		}
		before = snap.Checkpoint
	}
	res, err := t.At(before).Edit(TicketUpdate{Count: state.Add(-20)}).Resume(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.State.Log)
	// Output: [the price is 80]
}

// An update on behalf of a node: the thread continues as if the node had returned it.
func ExampleAsNode() {
	b := graph.New("import", TicketSchema)
	for _, id := range []graph.ID{"download", "check"} {
		b.Node(id, func(context.Context, Ticket) (TicketUpdate, error) {
			return TicketUpdate{Log: state.Append(string(id))}, nil
		})
	}
	b.Chain(graph.Start, "download", "check", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, t := context.Background(), app.Thread("import-1")
	file := TicketUpdate{Log: state.Append("a file by mail")}
	if _, err := t.UpdateState(ctx, file, graph.AsNode("download")); err != nil {
		log.Fatal(err)
	}
	res, err := t.Resume(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output: done [a file by mail check]
}

// A long run keeps only its newest checkpoints. Its state is complete.
func ExampleKeepCheckpoints() {
	b := graph.New("import", TicketSchema)
	b.Node("row", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Count: state.Add(1)}, nil
	})
	b.Edge(graph.Start, "row")
	b.Route("row", func(_ context.Context, s Ticket) (graph.Next, error) {
		if s.Count < 500 {
			return graph.To("row"), nil
		}
		return graph.To(graph.End), nil
	}, "row", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()), graph.KeepCheckpoints(20))
	if err != nil {
		log.Fatal(err)
	}
	ctx, t := context.Background(), app.Thread("import-7")
	res, err := t.Invoke(ctx, TicketUpdate{})
	if err != nil {
		log.Fatal(err)
	}
	stored := 0
	for _, err := range t.History(ctx, checkpoint.Query{Headers: true}) {
		if err != nil {
			log.Fatal(err)
		}
		stored++
	}
	fmt.Println(res.State.Count, "rows; at most 40 checkpoints:", stored <= 40)
	// Output: 500 rows; at most 40 checkpoints: true
}
