package howto

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Fulfil submits an order and waits for its result, which a worker of another process makes.
func Fulfil(ctx context.Context, app *graph.Graph[State, StateUpdate], number string, in StateUpdate) ([]string, error) {
	thread := app.Thread("order-" + number)
	if _, err := thread.Submit(ctx, in, graph.RequestID(number)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	res, err := thread.Result(ctx, graph.RequestID(number))
	var failed *graph.FailedError
	var cancelled *graph.CancelledError
	switch {
	case errors.As(err, &failed):
		return nil, fmt.Errorf("order %s failed: %w", number, err)
	case errors.As(err, &cancelled):
		return nil, fmt.Errorf("order %s was cancelled: %s", number, cancelled.Reason)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("order %s is in progress; call again: %w", number, err)
	}
	return res.State.Log, err
}
