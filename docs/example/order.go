package example

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// NewOrder returns a graph that releases the reserved goods if the payment fails.
func NewOrder(saver checkpoint.Saver, charge func(context.Context, State) error) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("order", StateSchema)
	g.Node("reserve", note("reserved"))
	g.Node("charge", func(ctx context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		if err := charge(ctx, s); err != nil {
			return u, err
		}
		u.Status.Set("paid")
		return u, nil
	}, graph.Retry(graph.RetryPolicy{Attempts: 3}))
	g.Fallback("charge", func(_ context.Context, _ State, err error) (StateUpdate, error) {
		var u StateUpdate
		u.Status.Set("refused")
		u.Log.Append("charge: " + err.Error())
		return u, nil
	})
	g.Node("ship", note("shipped"))
	g.Node("release", note("released"))

	g.Edge(graph.Start, "reserve")
	g.Edge("reserve", "charge")
	g.Route("charge", func(_ context.Context, s State) (graph.Next, error) {
		if s.Status == "refused" {
			return graph.To("release"), nil
		}
		return graph.To("ship"), nil
	}, "ship", "release")
	g.Edge("ship", graph.End)
	g.Edge("release", graph.End)
	return g.Compile(graph.Saver(saver))
}

// note returns a node that appends a line.
func note(line string) func(context.Context, State) (StateUpdate, error) {
	return func(context.Context, State) (StateUpdate, error) {
		var u StateUpdate
		u.Log.Append(line)
		return u, nil
	}
}
