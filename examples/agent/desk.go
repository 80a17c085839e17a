package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/store"
)

type findArgs struct {
	Order string `json:"order" jsonschema:"the number of the order"`
}

type refundArgs struct {
	Order string `json:"order" jsonschema:"the number of the order"`
	Cents int64  `json:"cents" jsonschema:"the amount in cents"`
}

func find(_ context.Context, in findArgs) (string, error) {
	if strings.HasPrefix(in.Order, "4") {
		return "", fmt.Errorf("there is no order %s", in.Order)
	}
	return "order " + in.Order + ": a lamp for 4000 cents, delivered yesterday", nil
}

// refund pays. The payment takes a while: kill the program meanwhile, and start it again.
func (d desk) refund(ctx context.Context, in refundArgs) (string, error) {
	select {
	case <-time.After(d.delay):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	// A payment service gets this key, and ignores it the second time.
	return fmt.Sprintf("paid %d cents for order %s, key %.8s", in.Cents, in.Order, graph.CurrentTask(ctx).Key), nil
}

// desk is the shop of the example.
type desk struct {
	delay time.Duration // of a payment
	word  time.Duration // that the model of this program takes for a word
}

// newAgent returns the agent of the desk.
func (d desk) newAgent(m agent.Model, memories *store.Collection[agent.Memory], options ...graph.Option) (*app, error) {
	return agent.New(agent.Config{
		Name:   "desk",
		Model:  m,
		System: agent.System("You help the customers of a shop. Find an order before you refund it."),
		Tools: append(agent.MemoryTools(memories),
			agent.NewTool("find_order", "finds an order", find),
			agent.NewTool("refund", "pays money back", d.refund, agent.ApproveIf(func(in refundArgs) bool { return in.Cents > 1000 })),
		),
	}, options...)
}
