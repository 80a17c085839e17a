package graph_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// contest is a graph in which a task, or a subgraph in some depth, receives a signal and then
// loses its race. The node after it receives a signal, too. With committed, the subgraph commits a
// superstep with the signal before it loses. The winner waits for a question if asks.
func contest(t *testing.T, depth int, committed, asks bool) *graph.Builder[work, update] {
	t.Helper()
	got := make(chan struct{}, 4)
	inner := newWork()
	inner.Node("take", func(ctx context.Context, w work) (update, error) {
		u, err := receiver("loser", "")(ctx, w)
		if got <- struct{}{}; !committed && err == nil {
			<-ctx.Done()
			return u, ctx.Err()
		}
		return u, err
	}, payment)
	inner.Node("hang", func(ctx context.Context, _ work) (update, error) {
		<-ctx.Done()
		return update{}, ctx.Err()
	})
	line(inner, "take", "hang")
	b := newWork()
	if depth == 0 {
		b.Node("loser", func(ctx context.Context, w work) (update, error) {
			u, err := receiver("loser", "")(ctx, w)
			got <- struct{}{}
			<-ctx.Done()
			return u, errors.Join(err, ctx.Err())
		}, payment)
	} else {
		for range depth - 1 {
			inner = only(compile(t, inner, graph.SubgraphOnly()))
		}
		b.Subgraph("loser", compile(t, inner, graph.SubgraphOnly()))
	}
	b.Node("winner", func(ctx context.Context, w work) (update, error) {
		if asks {
			return answering(ctx, w)
		}
		<-got
		time.Sleep(time.Second)
		return logged("winner"), nil
	}, refund)
	b.Node("after", receiver("after", ""), payment)
	b.Edge(graph.Start, "loser")
	b.Edge(graph.Start, "winner")
	b.JoinAny([]graph.ID{"loser", "winner"}, "after")
	b.Edge("after", graph.End)
	return b
}

func answering(ctx context.Context, _ work) (update, error) {
	ok, err := refund.Ask(ctx, doc{Name: "shoes"})
	return logged(fmt.Sprint("answer ", ok)), err
}

func TestTheSignalsOfARacesLoserGoBack(t *testing.T) {
	for depth := range 3 {
		for _, committed := range []bool{false, true} {
			t.Run(fmt.Sprint("depth ", depth, " committed ", committed), func(t *testing.T) {
				eachInBubble(t, func(t *testing.T, d graph.Durability) {
					s := memory.New()
					g := compile(t, contest(t, depth, committed, false), graph.Saver(s), d)
					th := g.Thread("t")
					send(t, th, "one")
					res := done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
					same(t, "log", res.State.Log, []string{"in", "winner", "after one"})
					same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
					same(t, "openings by a worker", serve(t, g, s), 0)
				})
			})
		}
	}
}

// TestTheSignalsOfALoserOfAnEarlierRunGoBack has a run that dies after the loser has received, and
// a winner that wins in the next run.
func TestTheSignalsOfALoserOfAnEarlierRunGoBack(t *testing.T) {
	for depth := range 3 {
		for _, committed := range []bool{false, true} {
			eachInBubble(t, func(t *testing.T, d graph.Durability) {
				s := memory.New()
				g := compile(t, contest(t, depth, committed, true), graph.Saver(s), d)
				th := g.Thread("t")
				send(t, th, "one")
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				res, err := th.Invoke(ctx, logged("in"))
				if !errors.Is(err, context.DeadlineExceeded) || len(res.Questions) != 1 {
					t.Fatalf("got %v, %v; want the run to be interrupted with a question", res.Questions, err)
				}
				same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
				res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
				same(t, "log", res.State.Log, []string{"in", "answer true", "after one"})
			})
		}
	}
}

// TestASignalThatWentBackIsGivenToATaskThatWaits has a race in a subgraph whose loser received,
// and a task outside that waits.
func TestASignalThatWentBackIsGivenToATaskThatWaits(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s, inner, b := memory.New(), newWork(), newWork()
		got := make(chan struct{})
		inner.Node("loser", func(ctx context.Context, w work) (update, error) {
			u, err := receiver("loser", "")(ctx, w)
			close(got)
			<-ctx.Done()
			return u, errors.Join(err, ctx.Err())
		}, payment)
		inner.Node("winner", func(context.Context, work) (update, error) {
			<-got
			time.Sleep(time.Second)
			return logged("winner"), nil
		})
		inner.JoinAny([]graph.ID{"loser", "winner"}, "end")
		inner.Node("end", say("end"))
		inner.Edge(graph.Start, "loser")
		inner.Edge(graph.Start, "winner")
		inner.Edge("end", graph.End)
		b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
		b.Node("waits", func(ctx context.Context, w work) (update, error) {
			<-got
			return receiver("waits", "")(ctx, w)
		}, payment)
		for _, id := range []graph.ID{"sub", "waits"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		g := compile(t, b, graph.Saver(s), d)
		send(t, g.Thread("t"), "one")
		res := done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("in")))
		same(t, "log", res.State.Log, []string{"in", "winner", "end", "waits one"})
		same(t, "messages left", untaken(t, g.Thread("t")), []checkpoint.MessageKind(nil))
	})
}

// TestASignalThatWentBackIsTakenInTheSameRun has a call that has received a signal in an earlier
// run, and whose failure a fallback handles. The next node of the graph around it receives the
// signal.
func TestASignalThatWentBackIsTakenInTheSameRun(t *testing.T) {
	for depth := range 3 {
		eachInBubble(t, func(t *testing.T, d graph.Durability) {
			inner, b := newWork(), newWork()
			inner.Node("break", func(ctx context.Context, w work) (update, error) {
				if u, err := receiver("break", "")(ctx, w); err != nil {
					return u, err
				}
				u, err := answering(ctx, w)
				return u, cmp.Or(err, errBroken)
			}, payment, refund)
			b.Subgraph("sub", compile(t, line(inner, "break"), graph.SubgraphOnly()))
			b.Fallback("sub", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
			b.Node("take", receiver("take", ""), payment)
			b.Node("ask", answering, refund)
			line(b, "sub", "take", "ask")
			for range depth {
				b = only(compile(t, b, graph.SubgraphOnly()))
			}
			th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
			send(t, th, "one")
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
			res = done(t, graph.Waiting)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
			same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
			res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
			same(t, "log", res.State.Log, []string{"in", "fallback", "take one", "answer true"})
		})
	}
}

// TestTheSignalsOfACallThatCountsNoMoreGoBack runs a call again by Rerun, and handles its failure
// by a fallback.
func TestTheSignalsOfACallThatCountsNoMoreGoBack(t *testing.T) {
	for depth := 1; depth < 3; depth++ {
		for _, fallback := range []bool{false, true} {
			eachInBubble(t, func(t *testing.T, d graph.Durability) {
				s, inner, b, broken := memory.New(), newWork(), newWork(), true
				inner.Node("take", receiver("take", ""), payment)
				inner.Node("break", func(ctx context.Context, w work) (update, error) {
					u, err := receiver("break", "")(ctx, w)
					if err == nil && broken {
						return u, errBroken
					}
					return u, err
				}, payment)
				line(inner, "take", "break")
				for range depth - 1 {
					inner = only(compile(t, inner, graph.SubgraphOnly()))
				}
				b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
				b.Node("after", receiver("after", ""), payment)
				line(b, "sub", "after")
				if fallback {
					b.Fallback("sub", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
				}
				g := compile(t, b, graph.Saver(s), d)
				th := g.Thread("t")
				send(t, th, "one", "two", "three")
				res, err := th.Invoke(t.Context(), logged("in"))
				if fallback {
					same(t, "log", done(t, graph.Done)(res, err).State.Log, []string{"in", "fallback", "after one"})
					same(t, "messages left", len(untaken(t, th)), 2)
					return
				}
				if !errors.Is(err, errBroken) {
					t.Fatalf("got %v, want the call to fail", err)
				}
				same(t, "messages left", len(untaken(t, th)), 1)
				broken = false
				res = done(t, graph.Done)(th.Resume(t.Context(), graph.Rerun("sub")))
				same(t, "log", res.State.Log, []string{"in", "take one", "break two", "after three"})
				same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
			})
		}
	}
}

// TestAReplayReceivesOnlyWhatNobodyReceived replays a thread that has received a signal, and
// forks it.
func TestAReplayReceivesOnlyWhatNobodyReceived(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		b := newWork()
		b.Node("a", say("a"))
		b.Node("b", receiver("b", ""), payment)
		g := compile(t, line(b, "a", "b"), graph.Saver(s), graph.InterruptBefore("b"), d)
		th := g.Thread("t")
		send(t, th, "one")
		at := done(t, graph.Paused)(th.Invoke(t.Context(), logged("in"))).Checkpoint
		same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"in", "a", "b one"})
		for _, payload := range []wire.String{"two", "three"} {
			done(t, graph.Paused)(th.At(at).Resume(t.Context()))
			done(t, graph.Waiting)(th.Resume(t.Context()))
			send(t, th, payload)
			serve(t, g, s)
			same(t, "log", snapshot(t, th).State.Log, []string{"in", "a", "b " + string(payload)})
		}
	})
}

// TestACrashLosesNoSignalAndGivesNoneTwice crashes at every call of the saver, in a graph that
// receives signals in a sequence, and in two tasks at the same time.
func TestACrashLosesNoSignalAndGivesNoneTwice(t *testing.T) {
	for _, depth := range []int{0, 1, 2} {
		eachDurability(t, func(t *testing.T, d graph.Durability) {
			synctest.Test(t, func(t *testing.T) {
				everyCrashPoint(t, func(s checkpoint.Saver, _ *ledger) (result, error) {
					b := newWork()
					for _, id := range []graph.ID{"first", "left", "right", "last"} {
						b.Node(id, receiver(string(id), ""), payment)
					}
					b.Edge(graph.Start, "first")
					b.Edge("first", "left")
					b.Edge("first", "right")
					b.Join([]graph.ID{"left", "right"}, "last")
					b.Edge("last", graph.End)
					for range depth {
						b = only(compile(t, b, graph.SubgraphOnly(), graph.Concurrency(1)))
					}
					if c, crashes := s.(*crashing); crashes {
						s = crashingInbox{c}
					}
					return receiveAll(t.Context(), compile(t, b, graph.Saver(s), d, graph.Concurrency(1)).Thread("t"))
				}, func(what string, res result) {
					same(t, what+": status", res.Status, graph.Done)
					same(t, what+": log", res.State.Log, []string{"in", "first 1", "left 2", "right 3", "last 4"})
				})
			})
		})
	}
}

// receiveAll runs a thread to its end. It sends two signals before the run, and the others when
// the thread waits.
func receiveAll(ctx context.Context, th thread) (res result, err error) {
	sent := 0
	more := func() error {
		sent++
		return th.Signal(ctx, payment.With(wire.String(fmt.Sprint(sent)), graph.RequestID(fmt.Sprint(sent))))
	}
	for sent < 2 {
		if err := more(); err != nil {
			return res, err
		}
	}
	for {
		_, err := th.State(ctx)
		if errors.Is(err, checkpoint.ErrNotFound) {
			res, err = th.Invoke(ctx, logged("in"), graph.TakeOver())
		} else if err == nil {
			res, err = th.Resume(ctx, graph.TakeOver())
		}
		if err != nil || res.Status != graph.Waiting {
			return res, err
		}
		if sent == 4 {
			return res, errors.New("the thread still waits")
		}
		if err := more(); err != nil {
			return res, err
		}
	}
}
