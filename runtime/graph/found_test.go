package graph_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// What random graphs found, and hostile readers: one small graph each.

// failing is a node that fails while broken says so.
func failing(name string, broken *atomic.Bool) func(context.Context, work) (update, error) {
	return func(context.Context, work) (update, error) {
		if broken.Load() {
			return update{}, errBroken
		}
		return logged(name), nil
	}
}

func TestAStopThatWasAnsweredHoldsAReplayAllTheSame(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	b := newWork()
	b.Node("a", say("a"))
	b.Node("b", failing("b", &broken))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	th, _ := newThread(t, b, graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.Resume(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want b to fail", err)
	}
	edited, err := th.UpdateState(t.Context(), logged("edit"), "")
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(false)
	done(t, graph.Finished)(th.Resume(t.Context()))

	res := done(t, graph.Paused)(th.At(edited).Resume(t.Context()))
	same(t, "due at the replay", res.Next, []graph.ID{"b"})
	res = done(t, graph.Finished)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "edit", "b"})
	if _, err := th.At(edited).UpdateState(t.Context(), logged("fork"), ""); err != nil {
		t.Fatal(err)
	}
	res = done(t, graph.Paused)(th.Resume(t.Context()))
	same(t, "due at the fork", res.Next, []graph.ID{"b"})
	snaps := collect(t, th.History(t.Context(), checkpoint.Query{}))
	same(t, "checkpoints", len(snaps), 8)
}

func TestAQuestionOfWhoLostARaceHoldsNothing(t *testing.T) {
	var bBroken, routeBroken atomic.Bool
	bBroken.Store(true)
	routeBroken.Store(true)
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged("a"), err
	}, refund)
	b.Node("b", failing("b", &bBroken))
	b.Node("after", say("after"))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.JoinAny([]graph.ID{"a", "b"}, "after")
	b.Route("after", func(context.Context, work) (graph.Next, error) { return graph.To(graph.End), nil }, graph.End)
	b.Route("b", func(context.Context, work) (graph.Next, error) {
		if routeBroken.Load() {
			return graph.Next{}, errBroken
		}
		return graph.To(graph.End), nil
	}, graph.End)
	th, _ := newThread(t, b, graph.Concurrency(1))
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want b to fail", err)
	}
	bBroken.Store(false)
	if _, err := th.Resume(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want the route of b to fail", err)
	}
	routeBroken.Store(false)
	res := done(t, graph.Finished)(th.Resume(t.Context())) // a lost to b, whose result is stored
	same(t, "log", res.State.Log, []string{"b", "after"})
}
