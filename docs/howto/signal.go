package howto

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

var paid = graph.NewSignal[wire.String]("paid")

func awaitPayment(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	receipt, err := paid.Receive(ctx, graph.ExpireAfter(24*time.Hour))
	switch {
	case errors.Is(err, graph.ErrExpired):
		u.Log.Append("cancelled: " + s.Order + " was not paid")
	case err != nil:
		return u, err
	default:
		u.Log.Append("paid: " + string(receipt))
	}
	return u, nil
}

// onPayment is called for each event of the payment provider.
func onPayment(ctx context.Context, app *graph.Graph[State, StateUpdate], order, event, receipt string) error {
	return app.Thread(order).Signal(ctx, paid.With(wire.String(receipt), graph.RequestID(event)))
}
