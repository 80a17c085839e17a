package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// unfinished is a graph whose superstep waits, because a node asks. A node, a routing node, a
// subgraph over the same state and a send have finished.
func unfinished(t *testing.T) *graph.Builder[work, update] {
	t.Helper()
	child := newWork()
	child.Node("one", say("one"))
	child.Node("two", say("two"))
	child.Chain(graph.Start, "one", "two", graph.End)
	b := newWork()
	b.Node("plain", say("plain"))
	b.RoutingNode("chooses", func(context.Context, work) (update, graph.Next, error) {
		return logged("chooses"), graph.To("plain", graph.End), nil
	}, graph.Targets("plain", graph.End))
	b.Subgraph("same", compile(t, child))
	b.Node("asks", func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{})
		return logged("asked"), err
	}, refund)
	send := graph.TaskNode(b, "sent", func(_ context.Context, _ work, d doc) (update, error) { return logged(d.Name), nil })
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		next := graph.To("plain", "chooses", "same", "asks")
		next.Add(send.Send(doc{Name: "first"}))
		next.Add(send.Send(doc{Name: "second"}))
		return next, nil
	}, "plain", "chooses", "same", "asks", "sent")
	for _, id := range []graph.ID{"plain", "same", "asks", "sent"} {
		b.Edge(id, graph.End)
	}
	return b
}

// TestASnapshotGivesTheUpdatesOfFinishedTasks, at the head and at a checkpoint, with the graph and
// without it.
func TestASnapshotGivesTheUpdatesOfFinishedTasks(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := newThread(t, unfinished(t), d)
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), update{}))
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ref := checkpoint.Ref{Thread: "t"}
		c, err := s.Load(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, task := range snap.Tasks {
			name := fmt.Sprint(task.Node, task.Index)
			for _, at := range []thread{th, th.At(snap.Checkpoint)} {
				updates, err := at.TaskUpdates(t.Context(), task)
				if err != nil {
					t.Fatal(err)
				}
				got[name] = nil
				for i := range updates {
					got[name] = append(got[name], updates[i].Log.String())
				}
			}
			stored, err := graph.Stored{Ref: ref}.Updates(&c)(task)
			if err != nil || len(stored) != len(got[name]) {
				t.Errorf("%s: without the graph got %d updates, %v, want %d", name, len(stored), err, len(got[name]))
			}
		}
		same(t, "updates", got, map[string][]string{
			"plain0": {"append [plain]"}, "chooses0": {"append [chooses]"}, "same0": {"append [one]", "append [two]"}, "asks0": nil,
			"sent0": {"append [first]"}, "sent1": {"append [second]"},
		})
		done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		if updates, err := th.TaskUpdates(t.Context(), snap.Tasks[0]); updates != nil || err != nil {
			t.Errorf("after the commit got %v, %v, want nothing", updates, err)
		}
	})
}

// TestADamagedResultOfATaskIsAnError that says so.
func TestADamagedResultOfATaskIsAnError(t *testing.T) {
	th, s := newThread(t, unfinished(t))
	done(t, graph.Waiting)(th.Invoke(t.Context(), update{}))
	c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Writes {
		c.Writes[i].Payload = []byte{0x92, 0xc4}
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (graph.Stored{Ref: checkpoint.Ref{Thread: "t"}}).Updates(&c)(snap.Tasks[0]); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}
