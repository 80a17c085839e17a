package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=Claim

// Claim is a state with the part Ticket, which is a state of its own.
type Claim struct {
	Ticket
	Amount int
}

// addReply adds a node to the graph of any state that embeds a Ticket.
func addReply(b *graph.Builder[Ticket, TicketUpdate], id graph.ID) graph.ID {
	return b.Node(id, func(_ context.Context, s Ticket) (TicketUpdate, error) {
		return TicketUpdate{Status: state.Set("answered"), Log: state.Append(fmt.Sprint("reply to ", len(s.Log), " lines"))}, nil
	})
}

// A node over a part of the state runs in the graph over the whole state. graphgen generated
// ClaimTicket for the embedded struct.
func ExamplePart() {
	b := graph.New("claims", ClaimSchema)
	b.Node("check", func(_ context.Context, s Claim) (ClaimUpdate, error) {
		return ClaimUpdate{Log: state.Append(fmt.Sprint("claims ", s.Amount))}, nil
	})
	reply := addReply(graph.Part(b, ClaimTicket), "reply")
	b.Chain(graph.Start, "check", reply, graph.End)
	g, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := g.Run(context.Background(), ClaimUpdate{Amount: state.Set(100)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.State.Amount, res.State.Status, res.State.Log)
	// Output: 100 answered [claims 100 reply to 1 lines]
}
