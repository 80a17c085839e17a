package memory_test

import (
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestNotifyAnnouncesEachWake(t *testing.T) {
	s := memory.New()
	var got []time.Time
	stop, err := s.Notify(t.Context(), func(n checkpoint.Notice) {
		if n.Graph != "g" || n.Thread != "t" {
			t.Errorf("got a notice of the thread %q of %q, want t of g", n.Thread, n.Graph)
		}
		got = append(got, n.Wake)
	})
	if err != nil {
		t.Fatal(err)
	}
	first := checkpoint.Record{ID: checkpoint.ID{1}, Base: checkpoint.ID{1}, Line: checkpoint.ID{1}, Graph: "g", Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80}}
	if _, err := s.Append(t.Context(), checkpoint.Append{Thread: "t", Records: []checkpoint.Record{first}, Open: &checkpoint.Opening{}}); err != nil {
		t.Fatal(err)
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	if _, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: first.ID, Status: checkpoint.Ready, End: true, Wake: tomorrow}); err != nil {
		t.Fatal(err)
	}
	for _, wake := range []time.Time{tomorrow.Add(time.Hour), {}} {
		if err := s.Rewake(t.Context(), checkpoint.Rewake{Thread: "t", Fence: first.ID, Wake: wake}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := s.Rewake(t.Context(), checkpoint.Rewake{Thread: "t", Fence: first.ID, Wake: tomorrow}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || !got[0].After(time.Now()) || got[1].Sub(tomorrow).Abs() > time.Millisecond || !got[2].After(got[1]) || !got[3].IsZero() {
		t.Errorf("got the wakes %v, want those of the lease, of the end and of both calls of Rewake", got)
	}
}
