package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// losing makes the Append that a run ends on, and loses its answer.
type losing struct{ checkpoint.Saver }

func (l losing) Append(ctx context.Context, a checkpoint.Append) (checkpoint.Appended, error) {
	done, err := l.Saver.Append(ctx, a)
	if err == nil && a.End {
		return checkpoint.Appended{}, errCrash
	}
	return done, err
}

// The last commit is stored, though the run does not know: what it says of the thread stands.
func TestALastCommitWhoseAnswerIsLostKeepsItsStatus(t *testing.T) {
	for want, opts := range map[checkpoint.Status][]graph.Option{
		checkpoint.Done:   nil,
		checkpoint.Paused: {graph.InterruptBefore("b")},
	} {
		s := memory.New()
		th := compile(t, chain("a", "b"), append(opts, graph.Saver(losing{s}))...).Thread("t")
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errCrash) {
			t.Fatalf("got %v, want the lost answer", err)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if snap.Status != want {
			t.Errorf("got the thread %s, want it %s", snap.Status, want)
		}
		again := compile(t, chain("a", "b"), append(opts, graph.Saver(s))...).Thread("t")
		res := done(t, graph.Finished)(again.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "b"})
	}
}
