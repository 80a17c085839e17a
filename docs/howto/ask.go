package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

var changeAddress = graph.NewReplySignal[wire.String, wire.Bool]("change address")

func awaitChange(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	change, err := changeAddress.Receive(ctx)
	if err != nil {
		return u, err
	}
	accepted := change.Value != ""
	if accepted {
		u.Log.Append("address: " + string(change.Value))
	}
	return u, change.Reply(ctx, wire.Bool(accepted))
}

// onChange is called for each form that a customer sends.
func onChange(ctx context.Context, app *graph.Graph[State, StateUpdate], order, form, address string) (bool, error) {
	accepted, err := changeAddress.Ask(ctx, app.Thread(order), wire.String(address), graph.RequestID(form))
	var none *graph.NoReplyError
	if errors.As(err, &none) {
		return false, fmt.Errorf("order %s takes no changes any more: %w", order, err)
	}
	return bool(accepted), err
}
