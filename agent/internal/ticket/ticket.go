// Package ticket is a graph of two agents over one conversation, in a state of its own.
package ticket

import (
	"context"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

//go:generate go tool graphgen -type=Ticket

// Ticket is the state of a larger graph.
type Ticket struct {
	agent.Chat
	Log []string `graph:"append"`
}

// New returns a graph in which the agent of check reads the answer of the agent of find. Then it
// logs the answer of check.
func New(find, check agent.Config, options ...graph.Option) (*graph.Graph[Ticket, TicketUpdate], error) {
	b := graph.New("tickets", TicketSchema)
	last := b.Node("log", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		u.Log.Append("answered: " + s.Output)
		return u, nil
	})
	chat := graph.Part(b, TicketChat) // a Builder over the part
	second, err := agent.Add(chat, last, check)
	if err != nil {
		return nil, err
	}
	first, err := agent.Add(chat, second, find)
	if err != nil {
		return nil, err
	}
	b.Edge(graph.Start, first)
	b.Edge(last, graph.End)
	return b.Compile(options...)
}
