package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestMailOfAThread posts before, while and after a run holds the thread.
func TestMailOfAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := memory.New(), t.Context()
		post := func(id string, kind checkpoint.MessageKind) uint64 {
			t.Helper()
			done, err := s.Post(ctx, checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{{ID: id, Kind: kind}}})
			if err != nil || done[0].Err != nil {
				t.Fatal(err, done)
			}
			return done[0].Messages[0].Number
		}
		due := func() int {
			t.Helper()
			got, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return len(got.Threads)
		}
		if post("signal", checkpoint.SignalMessage); due() != 0 {
			t.Errorf("after a signal: got a ready thread, want none")
		}
		if post("input", checkpoint.InputMessage); due() != 1 {
			t.Errorf("after an input: got no ready thread, want one")
		}
		first := opening(t, "t", "h", checkpoint.ID{})
		first.Records[0].Graph = "g"
		first.Messages = checkpoint.Handled{Seen: 2, Take: []uint64{2}}
		if done, err := s.Append(ctx, first); err != nil || done.Posted != 2 {
			t.Fatalf("opening: got %+v and %v, want 2 posted messages", done, err)
		}
		number := post("late", checkpoint.SignalMessage)
		if got := post("late", checkpoint.SignalMessage); number != 3 || got != 3 {
			t.Errorf("a message posted twice has the numbers %d and %d, want 3", number, got)
		}
		done, err := s.PutWrites(ctx, checkpoint.PutWrites{
			Thread: "t", Fence: first.Records[0].ID, End: true, Status: checkpoint.Waiting, Messages: checkpoint.Handled{Seen: 2},
		})
		if err != nil || done.Posted != 3 || due() != 1 {
			t.Errorf("an end with an unseen message: got %+v, %v and %d threads, want 3 posted and one", done, err, due())
		}
		got, err := s.Mail(ctx, checkpoint.MailQuery{Thread: "t"})
		if err != nil || len(got) != 2 || got[0].ID != "signal" || got[1].ID != "late" || got[0].Posted != time.Now().UTC().Round(0) {
			t.Errorf("mail: got %+v and %v, want the two signals", got, err)
		}
		post("next input", checkpoint.InputMessage)
		second := opening(t, "t", "h", first.Records[0].ID)
		second.End, second.Status = true, checkpoint.Done
		second.Messages.Seen = 4
		if _, err := s.Append(ctx, second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Nanosecond) // Ready compares whole microseconds
		if _, err := s.Release(ctx, "t", checkpoint.ID{}); err != nil || due() != 1 {
			t.Errorf("after a release: got %v and %d threads, want the one whose input waits", err, due())
		}
	})
}
