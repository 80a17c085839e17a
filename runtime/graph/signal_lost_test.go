package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestTheSignalsOfACallOverItsOwnStateGoBack handles the failure of a call that has received a
// signal by a fallback.
func TestTheSignalsOfACallOverItsOwnStateGoBack(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		inner, b := newWork(), newWork()
		inner.Node("break", func(ctx context.Context, w work) (update, error) {
			u, err := receiver("break", "")(ctx, w)
			if err == nil {
				err = errBroken
			}
			return u, err
		}, payment)
		into := func(context.Context, work) (update, error) { return update{}, nil }
		graph.MapSubgraph(b, "sub", compile(t, line(inner, "break"), graph.SubgraphOnly()), into,
			func(_ context.Context, _, child work) (update, error) { return logged(child.Log...), nil })
		b.Fallback("sub", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
		b.Node("after", receiver("after", ""), payment)
		th := compile(t, line(b, "sub", "after"), graph.Saver(memory.New()), d).Thread("t")
		send(t, th, "one")
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
		same(t, "log", res.State.Log, []string{"in", "fallback", "after one"})
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}

// TestALoserGetsNothing has a task lose its race while it waits for a signal. The superstep is not
// over, because another task waits for the same signal. That task must get it.
func TestALoserGetsNothing(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] {
		b := newWork()
		b.Node("loser", receives("loser", []graph.ReceiveOption{graph.ExpireAfter(day)}, ""), payment)
		b.Node("winner", answering, refund)
		b.Node("other", receiver("other", ""), payment)
		b.Node("after", say("after"))
		b.JoinAny([]graph.ID{"loser", "winner"}, "after")
		for _, id := range []graph.ID{"loser", "winner", "other"} {
			b.Edge(graph.Start, id)
		}
		b.Edge("other", graph.End)
		b.Edge("after", graph.End)
		return b
	}, func(t *testing.T, _ checkpoint.Saver, g *app) {
		t.Helper()
		th := g.Thread("t")
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		res = done(t, graph.Waiting)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		same(t, "signals that the thread waits for", fmt.Sprint(res.Signals), "["+res.Signals[0].String()+"]")
		same(t, "the node that waits", res.Signals[0].Node, graph.ID("other"))
		head := described(t, th).Head
		time.Sleep(2 * day)
		done(t, graph.Waiting)(th.Resume(t.Context()))
		same(t, "head after the time of the loser", described(t, th).Head, head)
		send(t, th, "one")
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "answer true", "other one", "after"})
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}

// TestRerunOfAWinnerLeavesItsRaceUndecided has the winner of a race ask when it runs again. So a
// signal decides the race, for which the loser had waited (rule 11.20).
func TestRerunOfAWinnerLeavesItsRaceUndecided(t *testing.T) {
	again := false
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("loser", receiver("loser", ""), payment)
		b.Node("winner", func(ctx context.Context, w work) (update, error) {
			if again {
				return answering(ctx, w)
			}
			return logged("winner"), nil
		}, refund)
		b.Node("break", func(context.Context, work) (update, error) {
			if again {
				return update{}, nil
			}
			return update{}, errBroken
		})
		b.Node("after", say("after"))
		b.JoinAny([]graph.ID{"loser", "winner"}, "after")
		for _, id := range []graph.ID{"loser", "winner", "break"} {
			b.Edge(graph.Start, id)
		}
		b.Edge("break", graph.End)
		b.Edge("after", graph.End)
		th := compile(t, b, graph.Saver(memory.New()), d, graph.Concurrency(1)).Thread("t")
		again = false
		if _, err := th.Invoke(t.Context(), logged("in")); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want the error of a node", err)
		}
		again = true
		send(t, th, "one")
		res := done(t, graph.Done)(th.Resume(t.Context(), graph.Rerun("winner")))
		same(t, "log", res.State.Log, []string{"in", "loser one", "after"})
	})
}

func TestTheStateOfACallIsReadWhileASignalWaits(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		child := compile(t, receivers("take"), graph.SubgraphOnly())
		th := compile(t, only(child), graph.Saver(memory.New()), d).Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		for cancelling := range 2 {
			send(t, th, "one")
			if cancelling == 1 {
				if err := th.Cancel(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			snap, err := callOf(t, th, "sub", child).State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "it waits for", len(snap.Signals), 1)
			same(t, "it is being cancelled", snap.Cancelling, cancelling == 1)
		}
	})
}

// TestACallThatAFallbackReplacedGetsNothing has a call fail while another task in it waits for a
// signal. The superstep is not over, because a task outside waits for the same signal. That task
// must get it.
func TestACallThatAFallbackReplacedGetsNothing(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] {
		inner, b := newWork(), newWork()
		inner.Node("take", receives("take", []graph.ReceiveOption{graph.ExpireAfter(day)}, ""), payment)
		inner.Node("break", func(context.Context, work) (update, error) { return update{}, errBroken })
		for _, id := range []graph.ID{"take", "break"} {
			inner.Edge(graph.Start, id)
			inner.Edge(id, graph.End)
		}
		child, err := inner.Compile(graph.SubgraphOnly())
		if err != nil {
			panic(err)
		}
		b.Subgraph("sub", child)
		b.Fallback("sub", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
		b.Node("other", receiver("other", ""), payment)
		for _, id := range []graph.ID{"sub", "other"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		return b
	}, func(t *testing.T, _ checkpoint.Saver, g *app) {
		t.Helper()
		th := g.Thread("t")
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		same(t, "number of signals that the thread waits for", len(res.Signals), 1)
		same(t, "the node that waits", res.Signals[0].Node, graph.ID("other"))
		head := described(t, th).Head
		time.Sleep(2 * day)
		done(t, graph.Waiting)(th.Resume(t.Context()))
		same(t, "head after the time of the call", described(t, th).Head, head)
		send(t, th, "one")
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "fallback", "other one"})
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}
