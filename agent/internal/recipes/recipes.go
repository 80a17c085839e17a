// Package recipes has the programs of the how-to page about tools.
package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/store"
)

//go:generate go tool graphgen -type=Spent

// App is a graph over a Chat.
type App = graph.Graph[agent.Chat, agent.ChatUpdate]

// NewReader returns the agent of c, with large results in a backend.
func NewReader(c agent.Config, backend store.Backend, options ...graph.Option) (*App, error) {
	results, err := store.NewCollection[agent.LargeResult](backend, store.Namespace{"results"})
	if err != nil {
		return nil, err
	}
	keep, read := agent.KeepLarge(results, 8<<10) // bytes of text
	c.ToolMiddleware = append(c.ToolMiddleware, keep)
	c.Tools = append(c.Tools, read)
	return agent.New(c, options...)
}

// Spent is what a user has spent.
//
//graphgen:payload
type Spent struct{ Cost float64 }

// budget bounds what each user spends.
type budget struct {
	spent *store.Collection[Spent] // of the user of the thread: see NewBounded
	limit float64
}

// charge returns a Middleware that adds the cost of each call of a Priced model to what the user
// has spent.
func (b budget) charge(next agent.Model) agent.Model {
	return agent.ModelFunc(func(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
		reply, err := next.Generate(ctx, r, emit)
		_, failed := b.spent.Update(context.WithoutCancel(ctx), "spent", func(s *Spent) error {
			s.Cost += reply.Usage.Cost
			return nil
		})
		return reply, errors.Join(err, failed)
	})
}

// check is a Before hook that ends a turn if the user has no budget left.
func (b budget) check(ctx context.Context, _ agent.Chat) (u agent.ChatUpdate, next agent.Choice, err error) {
	item, err := b.spent.Get(ctx, "spent")
	switch {
	case errors.Is(err, store.ErrNotFound):
		return u, agent.Continue, nil // the first call of this user
	case err != nil || item.Value.Cost < b.limit:
		return u, agent.Continue, err
	}
	u.Output.Set(fmt.Sprintf("You have spent %.2f of %.2f.", item.Value.Cost, b.limit))
	return u, agent.ToEnd, nil
}

// NewBounded returns the agent of c, whose users can spend limit each. The label user of a thread
// names its user.
func NewBounded(c agent.Config, backend store.Backend, limit float64, options ...graph.Option) (*App, error) {
	mine := func(ctx context.Context) (store.Namespace, error) {
		user, err := graph.ThreadLabel(ctx, "user")
		return store.Namespace{"users", user}, err
	}
	spent, err := store.NewCollection[Spent](store.Scoped(backend, mine), store.Namespace{"budget"})
	if err != nil {
		return nil, err
	}
	b := budget{spent: spent, limit: limit}
	c.Middleware = append([]agent.Middleware{b.charge}, c.Middleware...)
	c.Before = append([]agent.Hook{{Name: "budget", Run: b.check}}, c.Before...)
	return agent.New(c, options...)
}
