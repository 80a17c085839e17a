package graph_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func TestHistorySaysWhatAnEditAndAResumeLeftDue(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), logged("in")))
	for range 2 {
		if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
			t.Fatal(err)
		}
	}
	done(t, graph.Done)(th.Resume(t.Context()))
	for _, source := range []checkpoint.Source{checkpoint.Update, checkpoint.Resume} {
		snaps := collect(t, th.History(t.Context(), checkpoint.Query{Sources: []checkpoint.Source{source}}))
		if len(snaps) == 0 {
			t.Errorf("no record of source %s", source)
		}
		for _, snap := range snaps {
			same(t, source.String()+": due", snap.Next, []graph.ID{"b"})
		}
	}
}
