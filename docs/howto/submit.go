package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Order submits one order. It can be called again with the same number if its outcome is unknown.
func Order(ctx context.Context, app *graph.Graph[State, StateUpdate], number string, in StateUpdate) error {
	_, err := app.Thread("order-"+number).Submit(ctx, in, graph.RequestID(number), graph.Label("kind", "order"))
	if errors.Is(err, checkpoint.ErrInboxFull) {
		return fmt.Errorf("order %s: try again later: %w", number, err)
	}
	return err
}

// Withdraw cancels what was asked of the thread of an order.
func Withdraw(ctx context.Context, app *graph.Graph[State, StateUpdate], number, reason string) error {
	return app.Thread("order-"+number).Cancel(ctx, reason)
}
