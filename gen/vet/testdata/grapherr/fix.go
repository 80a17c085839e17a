package grapherr

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func statement(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	graph.Sleep(ctx, time.Hour) // want `the error of Sleep is dropped`
	var u desk.StateUpdate
	u.Log.Append("slept")
	return u, nil
}

func statementOfRoutingNode(ctx context.Context, s desk.State) (desk.StateUpdate, graph.Next, error) {
	graph.SleepUntil(ctx, time.Time{}) // want `the error of SleepUntil is dropped`
	return desk.StateUpdate{}, graph.To(graph.End), nil
}

func defined(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	answer, _ := refund.Ask(ctx, desk.Ask{Text: s.Status}) // want `the error of Ask is dropped`
	if answer.OK {
		u.Log.Append("paid")
	}
	switch {
	case s.Total > 3:
		receipt, _ := paid.Receive(ctx) // want `the error of Receive is dropped`
		u.Log.Append(string(receipt))
	}
	return u, nil
}

func allBlank(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, _ = refund.Ask(ctx, desk.Ask{Text: s.Status}) // want `the error of Ask is dropped`
	paid.Receive(ctx)                                // want `the error of Receive is dropped`
	return desk.StateUpdate{}, nil
}

// generic has no fix: the zero value of U has no simple text.
func generic[S, U any](ctx context.Context, s S) (U, error) {
	graph.Sleep(ctx, time.Hour) // want `the error of Sleep is dropped`
	var u U
	return u, nil
}

// errIsTaken has no fix: it would replace an error that the function returns.
func errIsTaken(ctx context.Context, s desk.State) (u desk.StateUpdate, err error) {
	err = check(nil)
	answer, _ := refund.Ask(ctx, desk.Ask{Text: s.Status}) // want `the error of Ask is dropped`
	if answer.OK {
		u.Log.Append("paid")
	}
	return u, err
}

func errIsTakenLater(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	answer, _ := refund.Ask(ctx, desk.Ask{Text: s.Status}) // want `the error of Ask is dropped`
	err := check(nil)
	return desk.StateUpdate{}, errors.Join(err, fail(answer.OK))
}

func inCondition(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	if answer, _ := refund.Ask(ctx, desk.Ask{Text: s.Status}); answer.OK { // want `the error of Ask is dropped`
		return desk.StateUpdate{}, nil
	}
	return desk.StateUpdate{}, nil
}
