package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// inside puts b into graphs that have it as their only node, so many deep: over a state of their
// own or over the same.
func inside(t *testing.T, b *graph.Builder[work, update], depth int, own bool, opts ...graph.Option) (*graph.Builder[work, update], []graph.Option) {
	t.Helper()
	for range depth {
		child := compile(t, b, append(opts, graph.SubgraphOnly())...)
		opts = nil
		b = newWork()
		if own {
			graph.MapSubgraph(b, "sub", child,
				func(context.Context, work) (update, error) { return update{}, nil },
				func(_ context.Context, _ work, s work) (update, error) { return logged(s.Log...), nil })
		} else {
			b.Subgraph("sub", child)
		}
		line(b, "sub")
	}
	return b, opts
}

// eachDepth calls test for graphs at the top and in others, up to two deep, of either kind, with
// each durability.
func eachDepth(t *testing.T, test func(t *testing.T, what string, depth int, own bool, d graph.Durability)) {
	t.Helper()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for depth := range 3 {
			for _, own := range []bool{false, true} {
				if depth == 0 && own {
					continue
				}
				test(t, fmt.Sprintf("depth %d, state of its own %t", depth, own), depth, own, d)
			}
		}
	})
}

// stops are the ways in which a graph of a, b and c stops for people between a and b, or after c.
var stops = map[string][]graph.Option{
	"before":           {graph.InterruptBefore("b")},
	"after":            {graph.InterruptAfter("a")},
	"after, route due": {graph.InterruptAfter("a"), graph.BeforeRoute()},
	"after and before": {graph.InterruptAfter("a"), graph.InterruptBefore("b")},
	"after the last":   {graph.InterruptAfter("c")},
}

// stopping is a, b and c one after the other, with a route behind a.
func stopping() *graph.Builder[work, update] {
	b := chain("a", "b", "c")
	b.Route("a", choose("b"), "b")
	return b
}

// threadOf describes the thread t; its version is 0 when there is none.
func threadOf(t *testing.T, s checkpoint.Saver) checkpoint.Thread {
	t.Helper()
	c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	c.Thread.Version = c.Version
	return c.Thread
}

// crashes repeats a call once for each saver call that it makes, each time on a new thread that
// prepare made. It crashes there, before the saver call and after it. check gets the stored data.
func crashes(t *testing.T, what string, least int,
	prepare func(s checkpoint.Saver), call func(s checkpoint.Saver) error, check func(what string, s checkpoint.Saver),
) {
	t.Helper()
	points := 0
	for left, more := 1, true; more; left++ {
		more = false
		for _, after := range []bool{false, true} {
			what := fmt.Sprintf("%s, crash at call %d, after it was made %t", what, left, after)
			s := memory.New()
			prepare(s)
			err := call(&crashing{Saver: s, left: left, after: after})
			if err == nil {
				continue
			}
			if !errors.Is(err, errCrash) {
				t.Fatalf("%s: got %v", what, err)
			}
			more = true
			points++
			check(what, s)
		}
	}
	if points < least {
		t.Errorf("%s: %d crash points, want %d and more", what, points, least)
	}
}

// TestAStopThatWasLetPassIsNotMadeAgain dies everywhere in the Resume that lets a run pass a stop.
func TestAStopThatWasLetPassIsNotMadeAgain(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		for name, opts := range stops {
			on := func(s checkpoint.Saver) thread {
				b, opts := inside(t, stopping(), depth, own, opts...)
				return compile(t, b, append(opts, graph.Saver(s), d)...).Thread("t")
			}
			crashes(t, fmt.Sprint(what, ", ", name), 5,
				func(s checkpoint.Saver) { done(t, graph.Paused)(on(s).Invoke(t.Context(), input)) },
				func(s checkpoint.Saver) error { _, err := on(s).Resume(t.Context()); return err },
				func(what string, s checkpoint.Saver) {
					res, err := on(s).Resume(t.Context(), graph.TakeOver())
					if err != nil || res.Status != graph.Done {
						t.Fatalf("%s: got %s, %v; want it to pass", what, res.Status, err)
					}
					same(t, what, strings.Join(res.State.Log, ", "), "a, b, c")
				})
		}
	})
}

// TestAStopThatNobodySawIsMade dies everywhere on the way to a stop.
func TestAStopThatNobodySawIsMade(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		for name, opts := range stops {
			on := func(s checkpoint.Saver) thread {
				b, opts := inside(t, stopping(), depth, own, opts...)
				return compile(t, b, append(opts, graph.Saver(s), d)...).Thread("t")
			}
			crashes(t, fmt.Sprint(what, ", ", name), 3,
				func(checkpoint.Saver) {},
				func(s checkpoint.Saver) error { _, err := on(s).Invoke(t.Context(), input); return err },
				func(what string, s checkpoint.Saver) {
					th := on(s)
					if thread := threadOf(t, s); thread.Version == 0 {
						done(t, graph.Paused)(th.Invoke(t.Context(), input))
					} else if thread.Status != checkpoint.Paused {
						res, err := th.Resume(t.Context(), graph.TakeOver())
						if err != nil || res.Status != graph.Paused {
							t.Fatalf("%s: got %s, %v; want the stop", what, res.Status, err)
						}
					}
					same(t, what+": status", threadOf(t, s).Status, checkpoint.Paused)
					res := done(t, graph.Done)(th.Resume(t.Context()))
					same(t, what, strings.Join(res.State.Log, ", "), "a, b, c")
				})
		}
	})
}

// TestTheStopAfterOneThatWasLetPass dies everywhere in the Resume between two stops: the second
// one is made once.
func TestTheStopAfterOneThatWasLetPass(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		on := func(s checkpoint.Saver) thread {
			b, opts := inside(t, stopping(), depth, own, graph.InterruptBefore("b", "c"))
			return compile(t, b, append(opts, graph.Saver(s), d)...).Thread("t")
		}
		var before checkpoint.ID
		crashes(t, what, 5,
			func(s checkpoint.Saver) {
				done(t, graph.Paused)(on(s).Invoke(t.Context(), input))
				before = threadOf(t, s).Head
			},
			func(s checkpoint.Saver) error { _, err := on(s).Resume(t.Context()); return err },
			func(what string, s checkpoint.Saver) {
				th, want, got := on(s), 1, 0
				if threadOf(t, s).Head == before { // the Resume had no effect: the first stop holds the thread
					want = 2
				}
				if threadOf(t, s).Status == checkpoint.Paused {
					got++
				}
				var res result
				for res.Status != graph.Done && got < 9 {
					var err error
					if res, err = th.Resume(t.Context(), graph.TakeOver()); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if res.Status == graph.Paused {
						got++
					}
				}
				same(t, what+": stops", got, want)
				same(t, what, strings.Join(res.State.Log, ", "), "a, b, c")
			})
	})
}

// asksTwice asks "one?" and "two?", in one node or in one after the other, between a and c.
func asksTwice(apart bool) *graph.Builder[work, update] {
	b := chain("a")
	b.Node("one", func(ctx context.Context, _ work) (update, error) {
		one, err := amount.Ask(ctx, "one?", graph.As("one"))
		if err != nil || apart {
			return logged(fmt.Sprint(one)), err
		}
		two, err := amount.Ask(ctx, "two?", graph.As("two"))
		return logged(fmt.Sprint(one), fmt.Sprint(two)), err
	}, amount)
	b.Edge("a", "one")
	b.Node("c", say("c"))
	b.Edge("c", graph.End)
	if !apart {
		b.Edge("one", "c")
		return b
	}
	b.Node("two", func(ctx context.Context, _ work) (update, error) {
		two, err := amount.Ask(ctx, "two?")
		return logged(fmt.Sprint(two)), err
	}, amount)
	b.Edge("one", "two")
	b.Edge("two", "c")
	return b
}

// TestAnAnswerIsNotAskedForAgain dies everywhere in the Resume that has the first or the second of
// two answers.
func TestAnAnswerIsNotAskedForAgain(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		for _, apart := range []bool{false, true} {
			for answered := range 2 {
				answerOnce(t, fmt.Sprint(what, ", asked apart ", apart, ", answers before ", answered), answered, func(s checkpoint.Saver) thread {
					b, opts := inside(t, asksTwice(apart), depth, own)
					return compile(t, b, append(opts, graph.Saver(s), d)...).Thread("t")
				})
			}
		}
	})
}

// answerOnce checks that of a thread's two questions none is asked again that a Resume had the
// answer to, once that was taken up. So many are answered before.
func answerOnce(t *testing.T, what string, answered int, on func(checkpoint.Saver) thread) {
	t.Helper()
	answers := map[wire.String]wire.Int{"one?": 1, "two?": 2}
	next := func(res result) (wire.String, graph.ResumeOption) {
		if len(res.Questions) != 1 {
			t.Fatalf("%s: got %d questions, want 1", what, len(res.Questions))
		}
		q, err := amount.Decode(res.Questions[0])
		if err != nil {
			t.Fatal(err)
		}
		return q, amount.Answer(res.Questions[0], answers[q])
	}
	var before checkpoint.ID
	var asked wire.String
	var answer graph.ResumeOption
	crashes(t, what, 3,
		func(s checkpoint.Saver) {
			res := done(t, graph.Waiting)(on(s).Invoke(t.Context(), input))
			for range answered {
				_, first := next(res)
				res = done(t, graph.Waiting)(on(s).Resume(t.Context(), first))
			}
			before = threadOf(t, s).Head
			asked, answer = next(res)
		},
		func(s checkpoint.Saver) error { _, err := on(s).Resume(t.Context(), answer); return err },
		func(what string, s checkpoint.Saver) {
			th, taken, left := on(s), threadOf(t, s).Head != before, 2-answered
			res, err := th.Resume(t.Context(), graph.TakeOver())
			for err == nil && res.Status == graph.Waiting {
				q, answer := next(res)
				if left--; left < 0 || taken && q == asked {
					t.Fatalf("%s: %q is asked again", what, q)
				}
				res, err = th.Resume(t.Context(), answer)
			}
			same(t, what, done(t, graph.Done)(res, err).State.Log, []string{"a", "1", "2", "c"})
		})
}

// TestResumingWithoutAnAnswerStoresNothing: whichever node asks, at any depth, and whichever nodes
// are due with it.
func TestResumingWithoutAnAnswerStoresNothing(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		b := newWork()
		for _, id := range []graph.ID{"two", "one"} {
			b.Node(id, func(ctx context.Context, _ work) (update, error) {
				n, err := amount.Ask(ctx, wire.String(id))
				return logged(fmt.Sprint(id, n)), err
			}, amount)
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		b.Subgraph("deep", compile(t, asksTwice(true), graph.SubgraphOnly()))
		b.Subgraph("stops", compile(t, stopping(), graph.SubgraphOnly(), graph.InterruptAfter("a")))
		b.Node("sibling", say("sibling"))
		for _, id := range []graph.ID{"deep", "stops", "sibling"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		b, _ = inside(t, b, depth, own)
		s := &counting{Saver: memory.New()}
		th := compile(t, b, graph.Saver(s), d).Thread("t")
		first := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		same(t, what+": questions", len(first.Questions), 3)
		before := s.appends.Load() + s.puts.Load()
		for range 3 {
			res := done(t, graph.Waiting)(compile(t, b, graph.Saver(s), d).Thread("t").Resume(t.Context()))
			same(t, what+": questions", res.Questions, first.Questions)
			same(t, what+": due", res.Next, first.Next)
			same(t, what+": state", res.State, first.State)
		}
		same(t, what+": writes", s.appends.Load()+s.puts.Load(), before)
		same(t, what+": status", threadOf(t, s).Status, checkpoint.Waiting)
	})
}

// TestAThreadThatWaitsIsListedWhereverItsRunDied: what a subgraph asked is stored before the
// thread waits.
func TestAThreadThatWaitsIsListedWhereverItsRunDied(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		on := func(s checkpoint.Saver) thread {
			b, opts := inside(t, asksTwice(false), depth, own)
			return compile(t, b, append(opts, graph.Saver(s), d)...).Thread("t")
		}
		crashes(t, what, 3,
			func(checkpoint.Saver) {},
			func(s checkpoint.Saver) error { _, err := on(s).Invoke(t.Context(), input); return err },
			func(what string, s checkpoint.Saver) {
				if threadOf(t, s).Version == 0 {
					return
				}
				res := done(t, graph.Waiting)(on(s).Resume(t.Context(), graph.TakeOver()))
				same(t, what, waitingThreads(t, s), res.Questions)
				done(t, graph.Waiting)(on(s).Resume(t.Context())) // nobody holds it
			})
	})
}

// TestAStopOfASubgraphThatLostARaceHoldsNobody: nor is anything left of it.
func TestAStopOfASubgraphThatLostARaceHoldsNobody(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		for name, opts := range stops {
			if depth == 0 {
				return
			}
			b, opts := inside(t, stopping(), depth, own, opts...)
			race := newWork()
			race.Subgraph("slow", compile(t, b, append(opts, graph.SubgraphOnly())...))
			race.Node("fast", say("fast"))
			race.Node("won", say("won"))
			for _, id := range []graph.ID{"slow", "fast"} {
				race.Edge(graph.Start, id)
			}
			race.JoinAny([]graph.ID{"slow", "fast"}, "won")
			race.Edge("won", graph.End)
			th, s := newThread(t, race, d, graph.Concurrency(1)) // slow has stopped when fast begins
			res := done(t, graph.Done)(th.Invoke(t.Context(), input))
			same(t, fmt.Sprint(what, ", ", name), res.State.Log, []string{"fast", "won"})
			same(t, fmt.Sprint(what, ", ", name, ": what is open"), len(threadOf(t, s).Questions), 0)
		}
	})
}

// TestACallPassesALaterStopAfterItsPendingRoutes: rule 13.16. A resume clears the stop of a call,
// and its pending route chooses another node. A later resume names a stop before the node that was
// due then.
func TestACallPassesALaterStopAfterItsPendingRoutes(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		inner := newWork()
		inner.Node("before", say("before"))
		inner.Node("stops", say("stops"))
		inner.Node("due", answering, refund)
		inner.Node("chosen", answering, refund)
		inner.Edge(graph.Start, "before")
		inner.Edge(graph.Start, "stops")
		inner.Edge("before", "due")
		inner.Route("stops", choose("chosen"), "chosen")
		inner.Edge("due", graph.End)
		inner.Edge("chosen", graph.End)
		th, _ := newThread(t, only(compile(t, inner, graph.SubgraphOnly(), graph.InterruptAfter("stops"), graph.BeforeRoute())), d)
		done(t, graph.Paused)(th.Invoke(t.Context(), input))
		res := done(t, graph.Waiting)(th.Resume(t.Context()))
		same(t, "the node that asks first", res.Questions[0].Node, graph.ID("due"))
		later := graph.InSubgraph("sub", graph.InterruptBefore("due"))
		res = done(t, graph.Waiting)(th.Resume(t.Context(), later, refund.Answer(res.Questions[0], true)))
		same(t, "number of questions", len(res.Questions), 1)
		res = done(t, graph.Done)(th.Resume(t.Context(), later, refund.Answer(res.Questions[0], false)))
		same(t, "log", res.State.Log, []string{"before", "stops", "answer true", "answer false"})
	})
}

// TestAStopBeforeTasksThatAllWaitHoldsNothing: rule 13.15. A resume answers one of two questions,
// of nodes or of a call, and names a stop before what still waits.
func TestAStopBeforeTasksThatAllWaitHoldsNothing(t *testing.T) {
	ask := func(ctx context.Context, _ pair) (pairUpdate, error) {
		_, err := amount.Ask(ctx, "how much?", graph.As("one"))
		_, again := amount.Ask(ctx, "how much?", graph.As("two"))
		return pairUpdate{}, errors.Join(err, again)
	}
	inner := graph.New("inner", teststate.PairSchema)
	inner.Node("ask", ask, amount)
	inner.Chain(graph.Start, "ask", graph.End)
	top := newWork()
	top.Node("sub", func(ctx context.Context, _ work) (update, error) {
		_, err := ask(ctx, pair{})
		return update{}, err
	}, amount)
	deep := newWork()
	graph.MapSubgraph(deep, "sub", compilePair(t, inner), toPair, fromPair)
	top.Chain(graph.Start, "sub", graph.End)
	deep.Chain(graph.Start, "sub", graph.End)
	before := graph.InterruptBefore
	for name, test := range map[string]struct {
		b    *graph.Builder[work, update]
		stop graph.InterruptOption
	}{
		"node": {top, before("sub")}, "call": {deep, before("sub")}, "in a call": {deep, graph.InSubgraph("sub", before("ask"))},
	} {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				th, _ := newThread(t, test.b, d)
				res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
				same(t, "questions", len(res.Questions), 2)
				res = done(t, graph.Waiting)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 1), test.stop))
				same(t, "questions left", len(res.Questions), 1)
				same(t, "stored status", stored(t, th).Status, graph.Waiting)
				done(t, graph.Paused)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 1), test.stop))
				done(t, graph.Done)(th.Resume(t.Context()))
			})
		})
	}
}
