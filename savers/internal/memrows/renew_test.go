package memrows_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A call that only renews the lease renews all of it, however little of it is over.
func TestARenewalRenewsTheWholeLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), rows.New("rows", newStore(), rows.Options{})
		a := opening(t, checkpoint.ID{})
		a.Thread = "t"
		if _, err := s.Append(ctx, a); err != nil {
			t.Fatal(err)
		}
		time.Sleep(checkpoint.DefaultLease / 8)
		if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: a.Records[0].ID}); err != nil {
			t.Fatal(err)
		}
		c, err := s.Load(ctx, checkpoint.Ref{Thread: "t"})
		if want := time.Now().Add(checkpoint.DefaultLease); err != nil || !c.Thread.Lease.Equal(want) {
			t.Errorf("the lease ends at %v, %v; want %v", c.Thread.Lease, err, want)
		}
	})
}
