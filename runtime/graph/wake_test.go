package graph_test

import (
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestOnlyADrainedThreadIsDueAtOnce ends runs in all ways, and reads which threads are due without
// anybody's call.
func TestOnlyADrainedThreadIsDueAtOnce(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for way, e := range endings {
			s := memory.New()
			e.run(t, s, d, "t")
			var due []string
			for thread, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{thread.Graph}, Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				for _, found := range got.Threads {
					due = append(due, found.ID)
				}
				if thread.Wake.IsZero() != (!strings.HasPrefix(way, "drained")) {
					t.Errorf("%s: the thread is %s with the wake %v, want one only if it was drained", way, thread.Status, thread.Wake)
				}
			}
			if want := strings.HasPrefix(way, "drained"); (len(due) == 1) != want {
				t.Errorf("%s: due are %q, want the thread: %t", way, due, want)
			}
		}
	})
}

func TestAnEditKeepsTheWakeOfADrainedThread(t *testing.T) {
	s := memory.New()
	endings["drained"].run(t, s, graph.Sync, "t")
	th := compile(t, threeNodes(say("b")), graph.Saver(s)).Thread("t")
	if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
		t.Fatal(err)
	}
	listed, err := th.Describe(t.Context())
	if err != nil || listed.Wake.IsZero() {
		t.Errorf("after an edit: got wake %v, %v; want one", listed.Wake, err)
	}
	if _, err := th.UpdateState(t.Context(), logged("fork"), graph.AsNode("b"), graph.DiscardPending()); err != nil {
		t.Fatal(err)
	}
	if listed, err = th.Describe(t.Context()); err != nil || !listed.Wake.IsZero() {
		t.Errorf("after a fork: got wake %v, %v; want none", listed.Wake, err)
	}
}
