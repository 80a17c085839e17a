package graph_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
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
