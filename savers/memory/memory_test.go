package memory_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

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
		_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "a", Fence: head})
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

// TestAPrunedRecordIsFreed: a kept record may keep small ones in memory that were allocated with
// it, and no large one.
func TestAPrunedRecordIsFreed(t *testing.T) {
	ctx, s := t.Context(), memory.New()
	step := stepsOf(t, s, checkpoint.Record{Payload: make([]byte, 4096), Snapshot: true})
	for range 100 {
		step()
	}
	var kept []weak.Pointer[byte]
	var fence checkpoint.ID
	for r, err := range s.History(ctx, checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Payload) > 0 {
			kept = append(kept, weak.Make(&r.Payload[0]))
		}
		fence = r.ID
	}
	if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: fence, End: true}); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1}); err != nil || done.Records != 100 {
		t.Fatalf("got %+v, %v; want 100 records pruned", done, err)
	}
	runtime.GC()
	for i, p := range kept {
		if i > 0 && p.Value() != nil {
			t.Errorf("the payload %d before the head is still in memory", i)
		}
	}
	runtime.KeepAlive(s)
}

// A load takes memory for where the deltas are, and none for the records between the snapshot and
// the head.
func TestLoadMakesNoRecords(t *testing.T) {
	s := memory.New()
	step := steps(t, s)
	for range 1000 {
		step()
	}
	load := func() {
		c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil || c.Chained != 1000 || len(c.Deltas) != 1000 {
			t.Fatalf("got %d deltas of %d records, %v; want 1000 of 1000", len(c.Deltas), c.Chained, err)
		}
	}
	if got := testing.AllocsPerRun(20, load); got > 2 {
		t.Errorf("a load allocates %v times, want at most 2: the deltas and their reader's", got)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		load()
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / 20; got > 1000*40 {
		t.Errorf("a load takes %d bytes, want at most 40 for each of 1000 records", got)
	}
}
