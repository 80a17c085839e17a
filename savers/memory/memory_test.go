package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// opening returns an opening Append of one empty snapshot after a head.
func opening(tb testing.TB, thread, holder string, after checkpoint.ID) checkpoint.Append {
	tb.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		tb.Fatal(err)
	}
	return checkpoint.Append{
		Thread: thread, After: after, Open: &checkpoint.Opening{Holder: holder},
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true}},
	}
}

func TestLeaseExpiresOnTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), memory.New()
		first := opening(t, "a", "one", checkpoint.ID{})
		if _, err := s.Append(ctx, first); err != nil {
			t.Fatal(err)
		}
		head := first.Records[0].ID
		second := opening(t, "a", "two", head)
		var busy *checkpoint.BusyError
		if _, err := s.Append(ctx, second); !errors.As(err, &busy) || busy.Holder != "one" {
			t.Fatalf("opening under a lease: got %v, want a *BusyError that names \"one\"", err)
		}
		if want := time.Now().Add(checkpoint.DefaultLease); !busy.Until.Equal(want) {
			t.Errorf("the lease ends at %v, want %v", busy.Until, want)
		}
		<-time.After(checkpoint.DefaultLease)
		if _, err := s.Append(ctx, second); err != nil {
			t.Fatalf("opening after the lease: %v", err)
		}
		err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "a", Fence: head})
		if !errors.Is(err, checkpoint.ErrConflict) {
			t.Errorf("renewal by the first run: got %v, want a conflict", err)
		}
	})
}

func TestZeroSaverIsReady(t *testing.T) {
	var s memory.Saver
	if _, err := s.Append(context.Background(), opening(t, "a", "", checkpoint.ID{})); err != nil {
		t.Fatal(err)
	}
	for thread, err := range s.Threads(context.Background(), checkpoint.ThreadQuery{}) {
		if err != nil || thread.ID != "a" || thread.Status != checkpoint.Running {
			t.Errorf("got %+v, %v; want a running", thread, err)
		}
	}
}
