package example

import (
	"context"

	"github.com/graphgen-go/graphgen/docs/example/chat"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=Agent

type Agent struct {
	chat.Messages // its fields are fields of Agent
	Usage
	Sources []chat.Source `graph:"append"` // a union of the other package
	Done    bool
}

type Usage struct {
	Tokens int64 `graph:"sum"`
}

func shorten(ctx context.Context, s Agent) (AgentUpdate, error) {
	last := s.Messages.Messages[len(s.Messages.Messages)-1]

	var u AgentUpdate
	chat.Edit(&u.Messages, last, "shorter")
	u.Topics.Reduce("style")
	u.Tokens.Add(42)
	u.Done.Set(true)
	return u, nil
}

// NewEditor returns a graph over Agent with a node over its part.
func NewEditor() (*graph.Graph[Agent, AgentUpdate], error) {
	b := graph.New("editor", AgentSchema)
	part := graph.Part(b, AgentMessages) // a Builder over chat.Messages
	chat.AddShorten(part, "shorten")
	b.Node("finish", func(ctx context.Context, s Agent) (AgentUpdate, error) {
		return AgentUpdate{Done: state.Set(true)}, nil
	})
	b.Chain(graph.Start, "shorten", "finish", graph.End)
	return b.Compile()
}
