package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// TestAnEditAsOneOfSeveralDueNodesDropsNothing: it is refused, by name, and stores nothing.
func TestAnEditAsOneOfSeveralDueNodesDropsNothing(t *testing.T) {
	b := chain("a", "c")
	b.Node("b", say("b"))
	b.Edge(graph.Start, "b")
	b.Join([]graph.ID{"a", "b"}, "c")
	th, _ := newThread(t, b, graph.InterruptBefore("a"))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "due", res.Next, []graph.ID{"a", "b"})
	for what, at := range map[string]thread{"the head": th, "a checkpoint": th.At(res.Checkpoint)} {
		_, err := at.UpdateState(t.Context(), logged("as a"), graph.AsNode("a"))
		if !errors.Is(err, graph.ErrUnfinished) || !strings.Contains(err.Error(), `as node "a"`) || !strings.Contains(err.Error(), "[b]") {
			t.Errorf("%s: got %v, want ErrUnfinished that names a and b", what, err)
		}
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "head after refused edits", snap.Checkpoint, res.Checkpoint)
	if _, err := th.UpdateState(t.Context(), logged("as a"), graph.AsNode("a"), graph.DiscardPending()); err != nil {
		t.Fatal(err)
	}
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log without b", res.State.Log, []string{"as a", "c"})
}

func TestAnEditAsOneOfSeveralSendsDropsNothing(t *testing.T) {
	var l library
	th, _ := newThread(t, newLibrary(&l), graph.InterruptBefore("fetch"))
	done(t, graph.Paused)(th.Invoke(t.Context(), logged("x", "y")))
	_, err := th.UpdateState(t.Context(), logged("edit"), graph.AsNode("fetch"))
	if !errors.Is(err, graph.ErrUnfinished) || !strings.Contains(err.Error(), "[fetch]") {
		t.Errorf("got %v, want ErrUnfinished that names the other sends to fetch", err)
	}
}

// TestAnEditAsANodeWithAPendingRouteDropsNothing: a node whose route is pending is due like one
// that has not run yet.
func TestAnEditAsANodeWithAPendingRouteDropsNothing(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b"} {
		b.Node(id, say(string(id)))
		b.Edge(graph.Start, id)
		b.Route(id, toEnd, graph.End)
	}
	th, _ := newThread(t, b, graph.InterruptAfter("a", "b"), graph.BeforeRoute())
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.UpdateState(t.Context(), logged("as a"), graph.AsNode("a")); !errors.Is(err, graph.ErrUnfinished) {
		t.Errorf("got %v, want ErrUnfinished: the route of b is due", err)
	}
}

// TestAnEditAsAnotherNodeSendsTheThreadElsewhere: a node that is not due takes the place of those
// that are.
func TestAnEditAsAnotherNodeSendsTheThreadElsewhere(t *testing.T) {
	b := chain("a", "z")
	b.Node("b", say("b"))
	b.Edge(graph.Start, "b")
	b.Edge("b", graph.End)
	th, _ := newThread(t, b, graph.InterruptBefore("a"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.UpdateState(t.Context(), logged("as z"), graph.AsNode("z")); err != nil {
		t.Fatal(err)
	}
	same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"as z"})
	var sources []checkpoint.Source
	for snap, err := range th.History(t.Context(), checkpoint.Query{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, snap.Source)
	}
	same(t, "newest source", sources, []checkpoint.Source{checkpoint.Fork})
}

// TestAnEditOfAWaitingHeadByItsIdIsAnEdit: it keeps what is asked.
func TestAnEditOfAWaitingHeadByItsIdIsAnEdit(t *testing.T) {
	th, _ := newThread(t, asksOne())
	res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	id, err := th.At(res.Checkpoint).UpdateState(t.Context(), logged("edit"))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "checkpoint", snap.Checkpoint, id)
	same(t, "source", snap.Source, checkpoint.Update)
	same(t, "what waits", snap.Questions, res.Questions)
	res = done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 7)))
	same(t, "log", res.State.Log, []string{"edit", "answered"})
}
