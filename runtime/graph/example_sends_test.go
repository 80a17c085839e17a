package graph_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A route sends each word to a node of its own run (map), and one node sees all results (reduce).
func ExampleTaskNode() {
	b := graph.New("words", TicketSchema)
	shout := graph.TaskNode(b, "shout", func(_ context.Context, _ Ticket, word wire.String) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append(strings.ToUpper(string(word)))}, nil
	})
	b.Route(graph.Start, func(_ context.Context, s Ticket) (graph.Next, error) {
		var next graph.Next
		for word := range strings.FieldsSeq(s.Status) {
			next.Add(shout.Send(wire.String(word)))
		}
		return next, nil
	}, "shout")
	b.Node("join", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		return TicketUpdate{Status: state.Set(strings.Join(s.Log, "-"))}, nil
	})
	b.Chain("shout", "join", graph.End)
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Run(context.Background(), TicketUpdate{Status: state.Set("one two three")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.State.Status)
	// Output: ONE-TWO-THREE
}

// Each word gets a run of a graph of its own, with two nodes, and one node sees all results.
func ExampleTaskSubgraph() {
	child := graph.New("letter", TicketSchema)
	child.Node("write", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("Dear " + s.Status)}, nil
	})
	child.Node("sign", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("yours, Ada")}, nil
	})
	child.Chain(graph.Start, "write", "sign", graph.End)
	letters, err := child.Compile(graph.SubgraphOnly())
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("mailing", TicketSchema)
	letter := graph.TaskSubgraph(b, "letter", letters,
		func(_ context.Context, _ Ticket, name wire.String) (TicketUpdate, error) {
			return TicketUpdate{Status: state.Set(string(name))}, nil
		},
		func(_ context.Context, _ Ticket, _ wire.String, l Ticket) (TicketUpdate, error) {
			return TicketUpdate{Log: state.Append(strings.Join(l.Log, ", "))}, nil
		})
	b.Route(graph.Start, func(_ context.Context, s Ticket) (graph.Next, error) {
		var next graph.Next
		for name := range strings.FieldsSeq(s.Status) {
			next.Add(letter.Send(wire.String(name)))
		}
		return next, nil
	}, letter.ID)
	b.Edge(letter.ID, graph.End)
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Run(context.Background(), TicketUpdate{Status: state.Set("Grace Alan")})
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range res.State.Log {
		fmt.Println(line)
	}
	// Output:
	// Dear Grace, yours, Ada
	// Dear Alan, yours, Ada
}

// A node runs when all nodes before it have run, whichever superstep they run in.
func ExampleBuilder_Join() {
	b := graph.New("report", TicketSchema)
	for _, id := range []graph.ID{"prices", "query", "news", "report"} {
		b.Node(id, func(context.Context, Ticket) (TicketUpdate, error) {
			return TicketUpdate{Log: state.Append(string(id))}, nil
		})
	}
	b.Edge(graph.Start, "prices")
	b.Chain(graph.Start, "query", "news")
	b.Join([]graph.ID{"prices", "news"}, "report")
	b.Edge("report", graph.End)
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Run(context.Background(), TicketUpdate{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Steps, res.State.Log)
	// Output: 3 [prices query news report]
}

// A thread waits before a task of a tool that a later release of the program does not have.
func ExampleCatchAll() {
	ctx, saver := context.Background(), memory.New()
	b := graph.New("tools", TicketSchema)
	fax := graph.TaskNode(b, "fax", func(context.Context, Ticket, wire.String) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("faxed")}, nil
	})
	b.Route(graph.Start, func(context.Context, Ticket) (graph.Next, error) { return fax.Send("order 7"), nil }, "fax")
	b.Edge("fax", graph.End)
	before, err := b.Compile(graph.Saver(saver), graph.InterruptBefore("fax"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := before.Thread("t").Invoke(ctx, TicketUpdate{}); err != nil {
		log.Fatal(err)
	}

	b = graph.New("tools", TicketSchema)
	graph.TaskNode(b, "removed", func(_ context.Context, _ Ticket, in wire.String) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("no tool for " + string(in))}, nil
	}, graph.CatchAll())
	b.Edge(graph.Start, graph.End)
	b.Edge("removed", graph.End)
	after, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	res, err := after.Thread("t").Resume(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output: done [no tool for order 7]
}
