package grapherr

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
)

func TestNode(t *testing.T) {
	_, _ = returned(t.Context(), desk.State{}) // a test may drop the error of a node
	ok, _ := approve(t.Context())
	t.Log(ok)
}

func testNode(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
	_, _ = approve(ctx) // want `the error of approve is dropped`
	return desk.StateUpdate{}, nil
}
