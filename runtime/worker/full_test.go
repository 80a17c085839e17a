package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestAFullInboxLosesNothing fills the inbox of a thread that a worker runs. The refused input is
// submitted again until there is room.
func TestAFullInboxLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, gate := memory.New(), make(chan struct{})
		g := line(t, "orders", s, func(context.Context, Job) (JobUpdate, error) {
			<-gate
			return JobUpdate{}, nil
		})
		w := start(t, s, worker.Options{}, g)
		th, refused := g.Thread("t"), 0
		want := make([]string, checkpoint.DefaultMaxInputs+10)
		for n := range want {
			want[n] = fmt.Sprint(n)
			for try := 0; ; try++ {
				_, err := th.Submit(t.Context(), said(want[n]), graph.RequestID(want[n]))
				if err == nil {
					break
				}
				if !errors.Is(err, checkpoint.ErrInboxFull) || try == 100 {
					t.Fatalf("input %d, try %d: %v", n, try, err)
				}
				if refused++; refused == 1 {
					if n != checkpoint.DefaultMaxInputs+1 {
						t.Errorf("input %d was refused first, want the one after a run and a full inbox", n)
					}
					close(gate)
				}
				time.Sleep(time.Second)
			}
			synctest.Wait() // the first input begins
		}
		if refused == 0 {
			t.Error("no input was refused")
		}
		time.Sleep(time.Hour)
		snap, err := th.State(t.Context())
		if err != nil || snap.Status != graph.Done || !slices.Equal(snap.State.Log, want) {
			t.Errorf("got %d lines, %s, %v; want all %d inputs in order", len(snap.State.Log), snap.Status, err, len(want))
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}
