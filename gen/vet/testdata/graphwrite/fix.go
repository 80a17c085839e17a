package graphwrite

import (
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
)

func appendsInPlace(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	i := 1
	var u desk.StateUpdate
	u.Log.Append(append(s.Log[:i], "x")...)                               // want `this node appends in place to s\.Log\[:\]`
	u.Log.Append(append(s.Plan.Steps, "x")...)                            // want `this node appends in place to s\.Plan\.Steps`
	u.Log.Append(append(s.Order.Items[:0], "x")...)                       // want `this node appends in place to s\.Order\.Items\[:\]`
	u.Log.Append(slices.Insert(s.Plan.Steps, 0, "x")...)                  // want `this node inserts in place into s\.Plan\.Steps`
	u.Log.Append(slices.AppendSeq(s.Plan.Steps, slices.Values(s.Log))...) // want `this node appends in place to s\.Plan\.Steps`
	return u, nil
}
