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

// waits is a graph in which a question, a signal and a timer are waited for.
func waits() *graph.Builder[work, update] {
	b := newWork()
	b.Node("ask", answering, refund)
	b.Node("receive", receiver("receive", ""), payment)
	b.Node("sleep", func(ctx context.Context, _ work) (update, error) { return logged("slept"), graph.Sleep(ctx, day) })
	for _, id := range []graph.ID{"ask", "receive", "sleep"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	return b
}

// listedWaits counts the questions, signals and timers that a thread lists.
func listedWaits(t *testing.T, th thread) [3]int {
	t.Helper()
	d := described(t, th)
	questions, err := graph.OpenQuestions(d)
	signals, err2 := graph.OpenSignals(d)
	timers, err3 := graph.OpenTimers(d)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	return [3]int{len(questions), len(signals), len(timers)}
}

// TestWaitsThatWereDroppedAreNotListed drops waits in each way, answers one, and continues them
// where that is possible (rule 21.25).
func TestWaitsThatWereDroppedAreNotListed(t *testing.T) {
	for name, drop := range map[string]func(t *testing.T, g *app, s checkpoint.Saver, th thread){
		"Invoke with DiscardPending": func(t *testing.T, _ *app, _ checkpoint.Saver, th thread) {
			t.Helper()
			done(t, graph.Waiting)(th.Invoke(t.Context(), logged("two"), graph.DiscardPending()))
		},
		"Submit with DiscardPending": func(t *testing.T, g *app, s checkpoint.Saver, th thread) {
			t.Helper()
			submit(t, th, "two", graph.DiscardPending())
			serve(t, g, s)
		},
		"Cancel and Submit": func(t *testing.T, g *app, s checkpoint.Saver, th thread) {
			t.Helper()
			if err := th.Cancel(t.Context(), "no"); err != nil {
				t.Fatal(err)
			}
			submit(t, th, "two")
			serve(t, g, s)
		},
		"UpdateState as a node": func(t *testing.T, _ *app, _ checkpoint.Saver, th thread) {
			t.Helper()
			if _, err := th.UpdateState(t.Context(), logged("two"), graph.AsNode(graph.Start), graph.DiscardPending()); err != nil {
				t.Fatal(err)
			}
			done(t, graph.Waiting)(th.Resume(t.Context()))
		},
	} {
		for _, nested := range []bool{false, true} {
			eachInBubble(t, func(t *testing.T, d graph.Durability) {
				s, b := memory.New(), waits()
				if nested {
					b = only(compile(t, b, graph.SubgraphOnly()))
				}
				g := compile(t, b, graph.Saver(s), d)
				th := g.Thread("t")
				first := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
				same(t, name+": listed at first", listedWaits(t, th), [3]int{1, 1, 1})
				left := first.Questions[0]
				if _, err := s.Post(t.Context(), graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.AnswerPost("of nobody", wire.AppendBool(nil, true), nil)); err != nil {
					t.Fatal(err)
				}
				drop(t, g, s, th)
				same(t, name+": listed", listedWaits(t, th), [3]int{1, 1, 1})
				same(t, name+": refused", refusals(t, th)[0], "the thread does not wait for it")
				same(t, name+": messages", untaken(t, th), []checkpoint.MessageKind(nil))
				if err := th.Answer(t.Context(), refund.Answer(left, true)); !errors.Is(err, graph.ErrNotAsked) {
					t.Errorf("%s: an answer to a question of a branch that was left: got %v, want ErrNotAsked", name, err)
				}
				second := snapshot(t, th).Questions[0]
				if _, err := th.At(first.Checkpoint).Resume(t.Context(), refund.Answer(left, true)); err != nil {
					t.Fatal(err)
				}
				same(t, name+": listed on the first branch", listedWaits(t, th), [3]int{0, 1, 1})
				if err := th.Answer(t.Context(), refund.Answer(second, true)); !errors.Is(err, graph.ErrNotAsked) {
					t.Errorf("%s: an answer to a question of the second branch: got %v, want ErrNotAsked", name, err)
				}
				send(t, th, "paid")
				time.Sleep(day)
				res := done(t, graph.Done)(th.Resume(t.Context()))
				same(t, name+": answer", res.State.Log[1], "answer true")
				same(t, name+": listed at the end", listedWaits(t, th), [3]int{})
			})
		}
	}
}

// TestACancelledThreadListsNoWaits: an answer that was posted before a worker has obeyed the
// cancel is refused, and so is a later one.
func TestACancelledThreadListsNoWaits(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		g := compile(t, waits(), graph.Saver(s), d)
		th := g.Thread("t")
		q := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in"))).Questions[0]
		if err := th.Cancel(t.Context(), "no stock"); err != nil {
			t.Fatal(err)
		}
		if err := th.Answer(t.Context(), refund.Answer(q, true)); err != nil {
			t.Fatal(err)
		}
		serve(t, g, s)
		same(t, "status", described(t, th).Status, graph.Cancelled)
		same(t, "listed", listedWaits(t, th), [3]int{})
		same(t, "refused", refusals(t, th), []string{"the thread does not wait for it"})
		if err := th.Answer(t.Context(), refund.Answer(q, true)); !errors.Is(err, graph.ErrNotAsked) {
			t.Errorf("an answer to a cancelled thread: got %v, want ErrNotAsked", err)
		}
		same(t, "messages", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}

// TestTheSignalsOfUnfinishedTasksGoBackWhenTheirBranchIsLeft tests rule 21.17. One task has
// received a signal and waits for another. The other task has finished with a signal of its own.
func TestTheSignalsOfUnfinishedTasksGoBackWhenTheirBranchIsLeft(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, th thread) result{
		"DiscardPending": func(t *testing.T, th thread) result {
			t.Helper()
			return done(t, graph.Waiting)(th.Invoke(t.Context(), logged("two"), graph.DiscardPending()))
		},
		"Cancel": func(t *testing.T, th thread) result {
			t.Helper()
			if err := th.Cancel(t.Context(), "no"); err != nil {
				t.Fatal(err)
			}
			if _, err := th.Resume(t.Context()); err == nil {
				t.Fatal("a cancelled thread: got no error")
			}
			return done(t, graph.Waiting)(th.Invoke(t.Context(), logged("two")))
		},
	} {
		for depth := range 3 {
			t.Run(name, func(t *testing.T) {
				eachInBubble(t, func(t *testing.T, d graph.Durability) {
					b := newWork()
					b.Node("both", receiver("both", "", ""), payment)
					b.Node("one", receiver("one", "x"), payment)
					for _, id := range []graph.ID{"both", "one"} {
						b.Edge(graph.Start, id)
						b.Edge(id, graph.End)
					}
					for range depth {
						b = only(compile(t, b, graph.SubgraphOnly()))
					}
					s := memory.New()
					g := compile(t, b, graph.Saver(s), d)
					th := g.Thread("t")
					send(t, th, "1")
					if err := th.Signal(t.Context(), payment.With("x1", graph.For("x"))); err != nil {
						t.Fatal(err)
					}
					first := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
					same(t, "signals", len(first.Signals), 1)
					same(t, "messages", untaken(t, th), []checkpoint.MessageKind(nil))
					second := leave(t, th)
					same(t, "signals of the second branch", len(second.Signals), 2) // the other of both, and that of one
					send(t, th, "2")
					done(t, graph.Waiting)(th.Resume(t.Context()))
					if err := th.Signal(t.Context(), payment.With("x2", graph.For("x"))); err != nil {
						t.Fatal(err)
					}
					res := done(t, graph.Done)(th.Resume(t.Context()))
					same(t, "log", res.State.Log, []string{"one", "one x1", "two", "both 1", "both 2", "one x2"})
					// The first branch waits for both signals again, and keeps what has finished.
					// The receive that was waiting gets a signal in the opening.
					send(t, th, "3", "4")
					res = done(t, graph.Done)(th.At(first.Checkpoint).Resume(t.Context()))
					same(t, "log of the first branch", res.State.Log, []string{"one", "both 4", "both 3", "one x1"})
				})
			})
		}
	}
}

// TestTheSignalsOfCallsGoBackOnlyIfTheyDoNotCount leaves a superstep by an input (rule 21.27). A
// subgraph in it has received a signal in each of two runs. After the input a node receives what
// went back.
func TestTheSignalsOfCallsGoBackOnlyIfTheyDoNotCount(t *testing.T) {
	for _, row := range []struct {
		name  string
		inner func(t *testing.T) *graph.Builder[work, update]
		add   func(b *graph.Builder[work, update])
		want  []string // the log
	}{{
		"its failure was handled by a fallback",
		func(*testing.T) *graph.Builder[work, update] {
			b := newWork()
			b.Node("take", receiver("take", ""), payment)
			b.Node("break", func(ctx context.Context, w work) (update, error) {
				u, err := receiver("break", "")(ctx, w)
				return u, cmp.Or(err, errBroken)
			}, payment)
			return line(b, "take", "break")
		},
		func(b *graph.Builder[work, update]) {
			b.Fallback("sub", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
			b.Edge("sub", graph.End)
		},
		[]string{"first", "fallback", "second", "all one", "all two"},
	}, {
		"it has lost its race",
		holding,
		func(b *graph.Builder[work, update]) {
			b.Node("winner", sleeper("winner", time.Hour))
			b.Node("after", say("after"))
			b.JoinAny([]graph.ID{"sub", "winner"}, "after")
			b.Edge("work", "winner")
			b.Edge("after", graph.End)
		},
		[]string{"first", "winner", "second", "all one", "all two"},
	}, {
		"it has committed a superstep, and waits",
		holding,
		func(b *graph.Builder[work, update]) { b.Edge("sub", graph.End) },
		[]string{"first", "take one", "second", "all two", "all expired"},
	}, {
		"a call in it has ended in a superstep that it has committed",
		func(t *testing.T) *graph.Builder[work, update] {
			t.Helper()
			inner, b := newWork(), newWork()
			inner.Node("take", receiver("take", "", ""), payment)
			b.Subgraph("inner", compile(t, line(inner, "take"), graph.SubgraphOnly()))
			b.Node("ask", answering, refund)
			return line(b, "inner", "ask")
		},
		func(b *graph.Builder[work, update]) { b.Edge("sub", graph.End) },
		[]string{"first", "take one", "take two", "second", "all expired", "all expired"},
	}} {
		for depth := range 3 {
			t.Run(fmt.Sprint(row.name, ", depth ", depth), func(t *testing.T) {
				eachInBubble(t, func(t *testing.T, d graph.Durability) {
					b, inner := newWork(), row.inner(t)
					for range depth {
						inner = only(compile(t, inner, graph.SubgraphOnly()))
					}
					b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
					b.Node("ask", answering, refund) // so that the superstep is not over
					b.Node("all", receives("all", []graph.ReceiveOption{graph.ExpireAfter(day)}, "", ""), payment)
					b.Node("work", func(context.Context, work) (update, error) { return update{}, nil })
					b.Route(graph.Start, func(_ context.Context, w work) (graph.Next, error) {
						if len(w.Log) == 1 {
							return graph.To("work"), nil
						}
						return graph.To("all"), nil
					}, "work", "all")
					for _, id := range []graph.ID{"sub", "ask"} {
						b.Edge("work", id)
					}
					b.Edge("ask", graph.End)
					b.Edge("all", graph.End)
					row.add(b)
					th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
					send(t, th, "one")
					done(t, graph.Waiting)(th.Invoke(t.Context(), logged("first")))
					send(t, th, "two")
					time.Sleep(time.Hour)
					done(t, graph.Waiting)(th.Resume(t.Context()))
					same(t, "messages before the input", untaken(t, th), []checkpoint.MessageKind(nil))
					res, err := th.Invoke(t.Context(), logged("second"), graph.DiscardPending())
					for err == nil && res.Status == graph.Waiting {
						time.Sleep(day)
						res, err = th.Resume(t.Context())
					}
					same(t, "log", done(t, graph.Done)(res, err).State.Log, row.want)
					same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
				})
			})
		}
	}
}

// holding is a graph that commits a superstep with a signal, and then receives a signal and waits
// for another.
func holding(*testing.T) *graph.Builder[work, update] {
	b := newWork()
	b.Node("take", receiver("take", ""), payment)
	b.Node("hold", receiver("hold", "", ""), payment)
	return line(b, "take", "hold")
}

// TestSignalsThatWentBackAreReceivedInTheirOrder has two tasks that receive in turn and then wait
// for more. Each input that drops them begins a branch that receives all signals.
func TestSignalsThatWentBackAreReceivedInTheirOrder(t *testing.T) {
	for depth := range 3 {
		eachInBubble(t, func(t *testing.T, d graph.Durability) {
			b, turns := newWork(), []chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
			for i, id := range []graph.ID{"left", "right"} {
				b.Node(id, func(ctx context.Context, _ work) (update, error) {
					for {
						select {
						case <-turns[i]:
						case <-time.After(time.Minute): // the other one waits already
						}
						_, err := payment.Receive(ctx)
						turns[1-i] <- struct{}{}
						if err != nil {
							return update{}, err
						}
					}
				}, payment)
			}
			b.Node("all", receiver("all", "", "", "", "", ""), payment)
			b.Route(graph.Start, func(_ context.Context, w work) (graph.Next, error) {
				if w.Log[len(w.Log)-1] == "first" {
					return graph.To("left", "right"), nil
				}
				return graph.To("all"), nil
			}, "left", "right", "all")
			for _, id := range []graph.ID{"left", "right", "all"} {
				b.Edge(id, graph.End)
			}
			for range depth {
				b = only(compile(t, b, graph.SubgraphOnly()))
			}
			th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
			send(t, th, "1", "2", "3", "4")
			turns[1] <- struct{}{}
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("first")))
			same(t, "receives", len(res.Signals), 2)
			same(t, "messages", untaken(t, th), []checkpoint.MessageKind(nil))
			res = done(t, graph.Waiting)(th.Invoke(t.Context(), logged("second"), graph.DiscardPending()))
			same(t, "receives of the second branch", len(res.Signals), 1)
			send(t, th, "5")
			res = done(t, graph.Done)(th.Invoke(t.Context(), logged("third"), graph.DiscardPending()))
			same(t, "log", res.State.Log, []string{"first", "second", "third", "all 1", "all 2", "all 3", "all 4", "all 5"})
			same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
		})
	}
}

func TestASignalThatWentBackIsReceivedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memory.New(), newWork()
		b.Node("a", receiver("a", "", ""), payment)
		g := compile(t, line(b, "a"), graph.Saver(s))
		th := g.Thread("t")
		send(t, th, "1")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
		submit(t, th, "two", graph.DiscardPending())
		send(t, th, "2")
		serve(t, g, s)
		same(t, "log", snapshot(t, th).State.Log, []string{"one", "two", "a 1", "a 2"})
	})
}
