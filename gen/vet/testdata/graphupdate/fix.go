package graphupdate

import (
	"context"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
)

func emptyReturned(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	if s.Status == "" {
		u.Status.Set("new") // want `nothing returns this operation on u`
		return desk.StateUpdate{}, nil
	}
	u.Status.Set("old")
	return u, nil
}
