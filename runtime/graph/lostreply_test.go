package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// losing makes the Append that a run ends on, and loses its answer.
type losing struct{ checkpoint.Saver }

func (l losing) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := l.Saver.Append(ctx, a)
	if err == nil && a.End {
		return checkpoint.AppendResult{}, errCrash
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
		res := done(t, graph.Done)(again.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "b"})
	}
}

// The choice of a pending route is the run's last commit here, and its reply is lost. The thread
// is done, and stays so.
func TestAPendingRouteWhoseLastCommitLosesItsReplyLeavesTheThreadDone(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("a", say("a"))
		b.Edge(graph.Start, "a")
		b.Route("a", choose(graph.End), graph.End)
		s := memory.New()
		opts := []graph.Option{d, graph.InterruptAfter("a"), graph.BeforeRoute()}
		th := compile(t, b, append(opts, graph.Saver(s))...).Thread("t")
		done(t, graph.Paused)(th.Invoke(t.Context(), input))
		if _, err := compile(t, b, append(opts, graph.Saver(losing{s}))...).Thread("t").Resume(t.Context()); !errors.Is(err, errCrash) {
			t.Fatalf("got %v, want the lost answer", err)
		}
		done(t, graph.Done)(th.Resume(t.Context()))
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status", snap.Status.String(), checkpoint.Done.String())
		same(t, "log", snap.State.Log, []string{"a"})
	})
}

// noChildren fails what subgraphs append.
type noChildren struct{ checkpoint.Saver }

func (n noChildren) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Namespace != "" {
		return checkpoint.AppendResult{}, errCrash
	}
	return n.Saver.Append(ctx, a)
}

// slow is say, a second later.
func slow(name string, seconds int) func(context.Context, work) (update, error) {
	return func(context.Context, work) (update, error) {
		time.Sleep(time.Duration(seconds) * time.Second) // in a bubble
		return logged(name), nil
	}
}

// A subgraph that loses a race gets the error that the queue of an Async run broke. The final
// status cannot be stored either, and the run returns that error.
func TestABrokenQueueIsAnErrorOfTheRunAlthoughItsSubgraphGotTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child := newWork()
		for _, id := range []graph.ID{"x", "y", "z"} {
			child.Node(id, slow(string(id), 1))
		}
		b := newWork()
		b.Subgraph("sub", compile(t, line(child, "x", "y", "z"), graph.SubgraphOnly()))
		b.Node("plain", slow("plain", 10))
		b.Edge(graph.Start, "sub")
		b.Edge(graph.Start, "plain")
		b.JoinAny([]graph.ID{"sub", "plain"}, "after")
		b.Node("after", say("after"))
		b.Edge("after", graph.End)
		s := memory.New()
		th := compile(t, b, graph.Saver(noChildren{s}), graph.InterruptBefore("after"), graph.Async).Thread("t")
		res, err := th.Invoke(t.Context(), input)
		if !errors.Is(err, errCrash) {
			t.Errorf("got %v and the run %s, want the write that failed", err, res.Status)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "checkpoint", res.Checkpoint, snap.Checkpoint)
		same(t, "due", res.Next, snap.Next)
		done(t, graph.Paused)(compile(t, b, graph.Saver(s), graph.InterruptBefore("after")).Thread("t").Resume(t.Context()))
	})
}
