package grapherr

import (
	"context"
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
