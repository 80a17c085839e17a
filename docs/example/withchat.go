package example

import (
	"context"

	"github.com/graphgen-go/graphgen/docs/example/chat"
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
