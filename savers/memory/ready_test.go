package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// posted posts a message to each of n threads.
func posted(t *testing.T, s *memory.Saver, prefix string, n int, kind checkpoint.MessageKind, p checkpoint.Priority) {
	t.Helper()
	posts := make([]checkpoint.Post, n)
	for i := range posts {
		posts[i] = checkpoint.Post{
			Thread: fmt.Sprintf("%s %06d", prefix, i), Graph: "g", Messages: []checkpoint.Message{{ID: "m", Kind: kind}}, Priority: p,
		}
	}
	done, err := s.Post(t.Context(), posts...)
	for i := range done {
		if err == nil {
			err = done[i].Err
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadyLooksAtFewThreads counts the threads that a call looks at, among many that are idle or
// sleep.
func TestReadyLooksAtFewThreads(t *testing.T) {
	const idle, asleep, due, limit = 100_000, 1_000, 1_000, 10
	s := memory.New()
	posted(t, s, "idle", idle, checkpoint.SignalMessage, 0) // no version, so never due
	posted(t, s, "asleep", asleep, checkpoint.InputMessage, 0)
	q := checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: asleep, Reserve: time.Hour}
	if got, err := s.Ready(t.Context(), q); err != nil || len(got.Threads) != asleep {
		t.Fatalf("got %d threads, %v, want %d", len(got.Threads), err, asleep)
	}
	for _, p := range []checkpoint.Priority{checkpoint.Low, checkpoint.High} {
		posted(t, s, p.String(), due/2, checkpoint.InputMessage, p)
	}
	q.Limit = limit
	for n := 0; n < due; n += limit {
		got, looked, err := memory.ReadyLooked(t.Context(), s, q)
		if err != nil || len(got.Threads) != limit {
			t.Fatalf("got %d threads, %v, want %d", len(got.Threads), err, limit)
		}
		if most := checkpoint.Priorities * (limit + 1); looked > most {
			t.Fatalf("after %d threads, a call looked at %d threads, want at most %d", n, looked, most)
		}
	}
	got, looked, err := memory.ReadyLooked(t.Context(), s, q)
	if most := checkpoint.Priorities * (limit + 1); err != nil || len(got.Threads) > 0 || looked > most {
		t.Errorf("a call without due threads: got %d threads, %v, and looked at %d; want none, and at most %d", len(got.Threads), err, looked, most)
	}
	if until := got.Next.Sub(got.Now); until <= 0 || until > time.Hour {
		t.Errorf("the next wake is %v from now, want the end of a reservation", until)
	}
}

// TestReadyLooksBeyondThreadsWithALease holds more threads than a page whose Wake has come.
func TestReadyLooksBeyondThreadsWithALease(t *testing.T) {
	s := memory.New()
	const held = 100
	for i := range held {
		thread, id := fmt.Sprintf("held %03d", i), checkpoint.ID{1, byte(i)}
		_, err := s.Append(t.Context(), checkpoint.Append{Thread: thread, Open: &checkpoint.Opening{}, Lease: time.Nanosecond, Records: []checkpoint.Record{{
			ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: "g", Snapshot: true, Payload: []byte{0x80},
		}}})
		if err == nil {
			_, err = s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: thread, Fence: id, Lease: time.Hour})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	posted(t, s, "due", 3, checkpoint.InputMessage, 0)
	for _, reserve := range []time.Duration{0, time.Hour} {
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g", "g"}, Limit: 2, Reserve: reserve})
		if err != nil || len(got.Threads) != 2 || got.Threads[0].ID != "due 000000" || got.Threads[1].ID != "due 000001" {
			t.Errorf("with a reservation of %v: got %+v, %v; want the first two that are due", reserve, got.Threads, err)
		}
	}
	if err := s.Delete(t.Context(), "due 000002"); err != nil {
		t.Fatal(err)
	}
	got, looked, err := memory.ReadyLooked(t.Context(), s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 2, Reserve: time.Hour})
	if err != nil || len(got.Threads) > 0 || looked > 3 {
		t.Errorf("after a delete: got %+v, %v, and looked at %d threads; want none, and at most 3", got.Threads, err, looked)
	}
}
