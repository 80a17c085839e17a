package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestAStopAfterTheLastNodeLetsSomebodyReviewTheResult: the run stops, shows the state, takes an
// edit, and finishes without running a node.
func TestAStopAfterTheLastNodeLetsSomebodyReviewTheResult(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		b := newWork()
		b.Node("a", step(l, "a"))
		b.Node("b", step(l, "b"))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		th, s := newThread(t, b, d, graph.InterruptAfter("b"))
		res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
		same(t, "state", res.State.Log, []string{"a", "b"})
		same(t, "next", res.Next, []graph.ID{graph.End})
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "stored next", snap.Next, []graph.ID{graph.End})
		same(t, "status", snap.Status, checkpoint.Paused)
		_, err = th.Invoke(t.Context(), input)
		if !errors.Is(err, graph.ErrUnfinished) || !strings.Contains(err.Error(), "[End] is due") {
			t.Errorf("input before the review: got %v, want ErrUnfinished that names End", err)
		}
		if _, err := th.UpdateState(t.Context(), logged("reviewed")); err != nil {
			t.Fatal(err)
		}
		same(t, "status after the edit", threadOf(t, s).Status, checkpoint.Paused)
		ran := len(l.copy())
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "result", res.State.Log, []string{"a", "b", "reviewed"})
		same(t, "next at the end", res.Next, []graph.ID(nil))
		same(t, "nodes run by the Resume", len(l.copy())-ran, 0)
		same(t, "steps of the Resume", res.Steps, 0)
		done(t, graph.Done)(th.Resume(t.Context()))
		done(t, graph.Paused)(th.Invoke(t.Context(), input)) // the next input stops there again
	})
}

// TestAStopAfterTheLastNodeOfASubgraph: it holds the graph around it, at any depth.
func TestAStopAfterTheLastNodeOfASubgraph(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		b, opts := inside(t, stopping(), depth, own, graph.InterruptAfter("c"))
		th, s := newThread(t, b, append(opts, d)...)
		res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
		same(t, what+": status", threadOf(t, s).Status, checkpoint.Paused)
		want := []graph.ID{graph.End}
		if depth > 0 {
			want = []graph.ID{"sub"}
		}
		same(t, what+": next", res.Next, want)
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, what, strings.Join(res.State.Log, ", "), "a, b, c")
		same(t, what+": open", len(threadOf(t, s).Questions), 0)
	})
}

// TestAStopAfterTheNodeThatChoosesParent dies everywhere between the stop and the end: what was
// chosen is not lost.
func TestAStopAfterTheNodeThatChoosesParent(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, own := range []bool{false, true} {
			on := func(s checkpoint.Saver) thread {
				inner := newWork()
				inner.RoutingNode("up", func(context.Context, work) (update, graph.Next, error) {
					return logged("up"), graph.ToParent(graph.To("then")), nil
				}, graph.Targets(graph.Parent))
				inner.Edge(graph.Start, "up")
				child := compile(t, inner, graph.SubgraphOnly(), graph.InterruptAfter("up"))
				b := newWork()
				if own {
					graph.MapSubgraph(b, "sub", child,
						func(context.Context, work) (update, error) { return update{}, nil },
						func(_ context.Context, _, c work) (update, error) { return logged(c.Log...), nil },
						graph.Targets("then", graph.End))
				} else {
					b.Subgraph("sub", child, graph.Targets("then", graph.End))
				}
				b.Node("then", say("then"))
				b.Edge(graph.Start, "sub")
				b.Edge("then", graph.End)
				return compile(t, b, graph.Saver(s), d).Thread("t")
			}
			crashes(t, fmt.Sprintf("state of its own %t", own), 5,
				func(s checkpoint.Saver) { done(t, graph.Paused)(on(s).Invoke(t.Context(), input)) },
				func(s checkpoint.Saver) error { _, err := on(s).Resume(t.Context()); return err },
				func(what string, s checkpoint.Saver) {
					res, err := on(s).Resume(t.Context(), graph.TakeOver())
					if err != nil || res.Status != graph.Done {
						t.Fatalf("%s: got %s, %v; want it to pass", what, res.Status, err)
					}
					same(t, what, res.State.Log, []string{"up", "then"})
				})
		}
	})
}

func TestAStopAfterTheLastNodeBeforeTheRelease(t *testing.T) {
	th, s := newThread(t, chain("a"), graph.InterruptAfter("a"), graph.ReleaseOnDone())
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "open version at the stop", threadOf(t, s).Version, 1)
	done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "open version at the end", threadOf(t, s).Version, 0)
}

// TestAStopHoldsNeitherAnEditAsTheLastNodeNorARunWithoutAThread: nothing could pass it there, or a
// person was there.
func TestAStopHoldsNeitherAnEditAsTheLastNodeNorARunWithoutAThread(t *testing.T) {
	th, s := newThread(t, chain("a", "b"), graph.InterruptBefore("b"), graph.InterruptAfter("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.UpdateState(t.Context(), logged("as b"), graph.AsNode("b")); err != nil {
		t.Fatal(err)
	}
	same(t, "status after an edit as the last node", threadOf(t, s).Status, checkpoint.Done)
	done(t, graph.Done)(compile(t, chain("a"), graph.Saver(memory.New()), graph.InterruptAfter("a")).Run(t.Context(), input))
}

// TestAForkOfAStopAfterTheLastNode: an edit of the reviewed checkpoint, and a replay of it, run
// nothing.
func TestAForkOfAStopAfterTheLastNode(t *testing.T) {
	th, _ := newThread(t, chain("a"), graph.InterruptAfter("a"))
	stop := done(t, graph.Paused)(th.Invoke(t.Context(), input)).Checkpoint
	done(t, graph.Done)(th.Resume(t.Context()))
	res := done(t, graph.Done)(th.At(stop).Resume(t.Context()))
	same(t, "log of a replay", res.State.Log, []string{"a"})
	if _, err := th.At(stop).UpdateState(t.Context(), logged("fork")); err != nil {
		t.Fatal(err)
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status of a fork", snap.Status, checkpoint.Ready)
	same(t, "next of a fork", snap.Next, []graph.ID{graph.End})
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log of a fork", res.State.Log, []string{"a", "fork"})
}

// TestNextAtAStopBeforeARouteIsWhatTheRouteCanChoose: unless a node is due.
func TestNextAtAStopBeforeARouteIsWhatTheRouteCanChoose(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "x", "y"} {
		b.Node(id, say(string(id)))
	}
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Route("a", choose("x"), "x", "y")
	b.Route("b", choose(graph.End), "y", graph.End)
	b.Edge("x", graph.End)
	b.Edge("y", graph.End)
	th, _ := newThread(t, b, graph.InterruptAfter("a", "b"), graph.BeforeRoute())
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	want := []graph.ID{"x", "y", graph.End}
	same(t, "next", res.Next, want)
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stored next", snap.Next, want)
	same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"a", "b", "x"})
}
