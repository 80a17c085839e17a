package main

import (
	"testing"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestWakeResumesFailedThreads wakes threads of each status, and lets a worker run, as the help of
// wake says.
func TestWakeResumesFailedThreads(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		cents   string
		stop    bool
		cancel  bool
		before  checkpoint.Status
		resumed bool
	}{
		{"-1", false, false, checkpoint.Failed, true},
		{"500", false, false, checkpoint.Waiting, false},
		{"500", true, false, checkpoint.Paused, false},
		{"500", false, true, checkpoint.Cancelled, false},
		{"0", false, false, checkpoint.Done, false},
	} {
		t.Run(c.before.String(), func(t *testing.T) {
			s := memory.New()
			var opts []graph.Option
			if c.stop {
				opts = append(opts, graph.InterruptBefore("review"))
			}
			g, err := desk.New(s, opts...)
			if err != nil {
				t.Fatal(err)
			}
			_ = deskStep(ctx, g, []string{"start", "order-1", c.cents}) // the status says how it ended
			if c.cancel {
				if err := ops(s).Cancel(ctx, &checkpoint.Thread{ID: "order-1"}, ""); err != nil {
					t.Fatal(err)
				}
				if err := work(s, g); err != nil {
					t.Fatal(err)
				}
			}
			before := statusNow(t, s)
			if err := ops(s).Wake(ctx, &checkpoint.Thread{ID: "order-1"}); err != nil {
				t.Fatal(err)
			}
			if err := work(s, g); err != nil {
				t.Fatal(err)
			}
			after := statusNow(t, s)
			if before.Status != c.before || after.Status != c.before {
				t.Errorf("got %v before and %v after, want %v", before.Status, after.Status, c.before)
			}
			if resumed := !after.Updated.Equal(before.Updated); resumed != c.resumed {
				t.Errorf("a run began: got %t, want %t", resumed, c.resumed)
			}
		})
	}
}

func statusNow(t *testing.T, s checkpoint.Saver) checkpoint.Thread {
	t.Helper()
	row, listed, err := rowOf(t.Context(), s, "order-1")
	if err != nil || !listed {
		t.Fatal(listed, err)
	}
	return row
}
