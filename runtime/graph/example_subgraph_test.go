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

// newLetter returns a graph that writes and then stops before it sends.
func newLetter() (*graph.Graph[Ticket, TicketUpdate], error) {
	b := graph.New("letter", TicketSchema)
	b.Node("write", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("Dear " + s.Status)}, nil
	})
	b.Node("send", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		return TicketUpdate{Status: state.Set("sent: " + s.Log[len(s.Log)-1])}, nil
	})
	b.Chain(graph.Start, "write", "send", graph.End)
	return b.Compile(graph.SubgraphOnly(), graph.InterruptBefore("send"))
}

// A subgraph has a state of its own. It stops before it sends, a person edits its state, and
// Resume continues the whole thread.
func ExampleInside() {
	letter, err := newLetter()
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("office", TicketSchema)
	graph.MapSubgraph(b, "letter", letter,
		func(_ context.Context, s Ticket) (TicketUpdate, error) {
			return TicketUpdate{Status: state.Set(s.Status)}, nil
		},
		func(_ context.Context, _, child Ticket) (TicketUpdate, error) {
			return TicketUpdate{Log: state.Append(child.Status)}, nil
		})
	b.Chain(graph.Start, "letter", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}

	ctx, t := context.Background(), app.Thread("office-1")
	res, err := t.Invoke(ctx, TicketUpdate{Status: state.Set("Ada")})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := t.State(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Stops)

	inside := graph.Inside(t, snap.Calls[0], letter)
	if _, err := inside.UpdateState(ctx, TicketUpdate{Log: state.Append("Dear Ms Lovelace")}); err != nil {
		log.Fatal(err)
	}
	res, err = t.Resume(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output:
	// paused [before letter/send]
	// done [sent: Dear Ms Lovelace]
}

// The calls of an unstored subgraph leave no checkpoints in the thread.
func ExampleUnstored() {
	count := graph.New("count", TicketSchema)
	count.Node("one", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Count: state.Add(1)}, nil
	})
	count.Edge(graph.Start, "one")
	count.Route("one", func(_ context.Context, s Ticket) (graph.Next, error) {
		if s.Count < 100 {
			return graph.To("one"), nil
		}
		return graph.To(graph.End), nil
	}, "one", graph.End)
	loop, err := count.Compile(graph.SubgraphOnly())
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("report", TicketSchema)
	b.Subgraph("loop", loop, graph.Unstored())
	b.Chain(graph.Start, "loop", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, t := context.Background(), app.Thread("report-1")
	res, err := t.Invoke(ctx, TicketUpdate{})
	if err != nil {
		log.Fatal(err)
	}
	stored := 0
	for _, err := range t.History(ctx, checkpoint.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		stored++
	}
	fmt.Println(res.State.Count, "in", stored, "checkpoints")
	// Output: 100 in 3 checkpoints
}
