package etcd

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

func TestErrorsOfTheServer(t *testing.T) {
	for _, c := range []struct{ err, want error }{
		{rpctypes.ErrNoLeader, checkpoint.ErrUnavailable},
		{rpctypes.ErrGRPCTimeout, checkpoint.ErrUnavailable}, // as it arrives
		{rpctypes.ErrRequestTooLarge, checkpoint.ErrTooLarge},
		{rpctypes.ErrNoSpace, rpctypes.ErrNoSpace},
		{context.DeadlineExceeded, context.DeadlineExceeded},
	} {
		got := failed(c.err, 1)
		if !errors.Is(got, c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v: got %v, want that it is %v", c.err, got, c.want)
		}
		if c.want == c.err && (errors.Is(got, checkpoint.ErrUnavailable) || errors.Is(got, checkpoint.ErrTooLarge)) {
			t.Errorf("%v: got %v", c.err, got)
		}
	}
}
