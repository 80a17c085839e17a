package howto

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

func remind(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	if err := graph.Sleep(ctx, 7*24*time.Hour); err != nil {
		return u, err
	}
	u.Log.Append("reminded the customer of " + s.Order)
	return u, nil
}

var confirm = graph.NewQuestion[wire.String, wire.Bool]("confirm")

func awaitConfirmation(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	ok, err := confirm.Ask(ctx, wire.String("Ship "+s.Order+"?"), graph.ExpireAfter(24*time.Hour))
	switch {
	case errors.Is(err, graph.ErrExpired):
		u.Log.Append("cancelled: nobody answered")
	case err != nil:
		return u, err
	case bool(ok):
		u.Log.Append("shipped")
	default:
		u.Log.Append("cancelled")
	}
	return u, nil
}
