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
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// callOf returns th as seen from the call of a node.
func callOf[S, U, CS, CU any](t *testing.T, th graph.Thread[S, U], node graph.ID, child *graph.Graph[CS, CU]) graph.Thread[CS, CU] {
	t.Helper()
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range snap.Calls {
		if call.Node == node {
			return graph.Inside(th, call, child)
		}
	}
	t.Fatalf("got the calls %v, want one of %s", snap.Calls, node)
	return graph.Thread[CS, CU]{}
}

// stored returns the state of a thread, or of a call.
func stored[S, U any](t *testing.T, th graph.Thread[S, U]) graph.Snapshot[S] {
	t.Helper()
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// TestAnEditOfACallKeepsTheDeadline: rule 14.10. The same metadata has the caller of a child.
func TestAnEditOfACallKeepsTheDeadline(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		child := compilePair(t, pairs(nil, "a", "b"), graph.InterruptBefore("b"))
		th, _ := newThread(t, around(t, nil, child), d)
		done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.ExecutionTimeout(day)))
		before := stored(t, th).Deadline
		updated(t)(callOf(t, th, "sub", child).UpdateState(t.Context(), pairUpdate{Bar: state.Append("edit")}))
		if after := stored(t, th).Deadline; before.IsZero() || !after.Equal(before) {
			t.Errorf("got the deadline %v after the edit, want %v", after, before)
		}
	})
}

// TestAnEditOfAStoppedCall: the call continues with it, in another process, however it stopped
// (rules 18.18 and 18.19).
func TestAnEditOfAStoppedCall(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		child := compilePair(t, pairs(nil, "a", "b"), graph.InterruptBefore("b"))
		th, s := newThread(t, around(t, nil, child), d)
		done(t, graph.Paused)(th.Invoke(t.Context(), input))
		before := stored(t, th)
		for _, text := range []string{"one", "two"} {
			in := callOf(t, th, "sub", child)
			id := updated(t)(in.UpdateState(t.Context(), pairUpdate{Bar: state.Append(text)}))
			same(t, "head", stored(t, th).Checkpoint, id)
		}
		same(t, "state of the call", stored(t, callOf(t, th, "sub", child)).State.Bar, []string{"a", "one", "two"})
		after := stored(t, th)
		same(t, "state of the thread", after.State, before.State)
		same(t, "status", after.Status, before.Status)
		same(t, "stops", after.Stops, before.Stops)

		again := compilePair(t, pairs(nil, "a", "b"), graph.InterruptBefore("b"))
		th = compile(t, around(t, nil, again), graph.Saver(s), d).Thread("t")
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", strings.Join(res.State.Log, ", "), "before, sibling, given 1 1 a+one+two+b, after")
	})
}

// TestAnEditOfACallThatWaits: at two levels. The question stays open, and its answer is given
// later.
func TestAnEditOfACallThatWaits(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		deep := compilePair(t, asking(nil))
		middle := nest(t, deep)
		th, _ := newThread(t, around(t, nil, middle), d)
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		bottom := callOf(t, callOf(t, th, "sub", middle), "deep", deep)
		updated(t)(bottom.UpdateState(t.Context(), pairUpdate{Foo: state.Set("edited")}))
		same(t, "still asked", stored(t, th).Questions, res.Questions)
		same(t, "still waiting", done(t, graph.Waiting)(th.Resume(t.Context())).Questions, res.Questions)
		res = done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 7)))
		same(t, "log", strings.Join(res.State.Log, ", "), "before, sibling, edited: 7 1 a+b, after")
	})
}

// TestAnEditOfACallThatFailed: several tasks of the next superstep may set the field that the edit
// set.
func TestAnEditOfACallThatFailed(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := graph.New("inner", teststate.PairSchema)
		b.Node("a", pairNode(nil, "a"))
		b.Node("set", func(_ context.Context, s pair) (pairUpdate, error) {
			if s.Foo != "edited" {
				return pairUpdate{}, errBroken
			}
			return pairUpdate{Foo: state.Set("set")}, nil
		})
		for _, id := range []graph.ID{"a", "set"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		child := compilePair(t, b)
		th, _ := newThread(t, around(t, nil, child), d, graph.Concurrency(1))
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want errBroken", err)
		}
		updated(t)(callOf(t, th, "sub", child).UpdateState(t.Context(), pairUpdate{Foo: state.Set("edited")}))
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", strings.Join(res.State.Log, ", "), "before, sibling, set 1 a, after")
	})
}

// TestAnEditReachesTheSameState: an edit of the thread is also merged into the call, at any depth.
// It is merged once into the state of the thread (rule 18.17). An edit of the call arrives in the
// thread with the updates of the call.
func TestAnEditReachesTheSameState(t *testing.T) {
	sees := func(_ context.Context, s work) (update, error) {
		return logged("sees " + strings.Join(s.Log, "+")), nil
	}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, resume := range []bool{false, true} {
			b := newWork()
			b.Node("a", step(nil, "a"))
			b.Node("b", sees)
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Edge("b", graph.End)
			deep := compile(t, b, graph.SubgraphOnly(), graph.InterruptBefore("b"))
			m := newWork()
			m.Subgraph("deep", deep)
			m.Edge(graph.Start, "deep")
			m.Edge("deep", graph.End)
			middle := compile(t, m, graph.SubgraphOnly())
			th, _ := newThread(t, alongside(nil, middle), d)
			done(t, graph.Paused)(th.Invoke(t.Context(), input))
			updated(t)(th.UpdateState(t.Context(), logged("thread")))
			in := callOf(t, th, "sub", middle)
			updated(t)(callOf(t, in, "deep", deep).UpdateState(t.Context(), logged("deep")))
			updated(t)(in.UpdateState(t.Context(), logged("middle")))
			same(t, "in deep", stored(t, callOf(t, in, "deep", deep)).State.Log, []string{"before", "a", "thread", "deep", "middle"})
			same(t, "in middle", stored(t, in).State.Log, []string{"before", "thread", "middle"})
			same(t, "in the thread", stored(t, th).State.Log, []string{"before", "thread"})
			saw, last := "sees before+a+thread+deep+middle", []string{}
			var res result
			if resume {
				res, saw, last = done(t, graph.Done)(th.Edit(logged("last")).Resume(t.Context())), saw+"+last", []string{"last"}
			} else {
				res = done(t, graph.Done)(th.Resume(t.Context()))
			}
			want := append([]string{"before", "thread"}, last...)
			same(t, "log", res.State.Log, append(want, "sibling", "middle", "a", "deep", saw, "after"))
		}
	})
}

// TestAnEditBeforeAPendingRouteOfACall: the record of the route has no part of its own, and the
// edit still arrives in the thread, whatever crashes.
func TestAnEditBeforeAPendingRouteOfACall(t *testing.T) {
	for name, opts := range map[string][]graph.Option{
		"route": {graph.InterruptAfter("a"), graph.BeforeRoute()},
		"end":   {graph.InterruptAfter("b")},
		"stop":  {graph.InterruptBefore("b")},
	} {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				everyCrashPoint(t, func(s checkpoint.Saver, l *ledger) (result, error) {
					b := newWork()
					b.Node("a", step(l, "a"))
					b.Node("b", step(l, "b"))
					b.Edge(graph.Start, "a")
					b.Route("a", choose("b"), "b")
					b.Edge("b", graph.End)
					child := compile(t, b, append(opts, graph.SubgraphOnly())...)
					return editOnce(t.Context(), compile(t, alongside(l, child), graph.Saver(s), d, graph.Concurrency(1)).Thread("t"), child)
				}, func(what string, res result) {
					order := "before, sibling, a, edited, b, after"
					if name == "end" {
						order = "before, sibling, a, b, edited, after"
					}
					same(t, what+": log", strings.Join(res.State.Log, ", "), order)
				})
			})
		})
	}
}

// editOnce runs a thread to its end, with one edit of the call of sub when that has stopped.
func editOnce(ctx context.Context, th thread, child *app) (res result, err error) {
	for range 5 {
		snap, err := th.State(ctx)
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
			res, err = th.Invoke(ctx, input, graph.TakeOver())
		case err == nil && snap.Status == checkpoint.Paused && len(snap.Calls) > 0:
			in := graph.Inside(th, snap.Calls[0], child)
			var inner graph.Snapshot[work]
			if inner, err = in.State(ctx); err == nil && !strings.Contains(strings.Join(inner.State.Log, " "), "edited") {
				_, err = in.UpdateState(ctx, logged("edited"), graph.TakeOver())
			}
			if err == nil {
				res, err = th.Resume(ctx, graph.TakeOver())
			}
		case err == nil:
			res, err = th.Resume(ctx, graph.TakeOver())
		}
		if err != nil || res.Status == graph.Done {
			return res, err
		}
	}
	return res, fmt.Errorf("the thread is %s", res.Status)
}

// TestAnEditOfACallIsRefused: nothing is stored then.
func TestAnEditOfACallIsRefused(t *testing.T) {
	child := compile(t, steps(nil, "a", "b"), graph.SubgraphOnly(), graph.InterruptBefore("b"))
	th, s := newThread(t, alongside(nil, child))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	in, head := callOf(t, th, "sub", child), stored(t, th).Checkpoint
	is := func(what string, want error) func(checkpoint.ID, error) {
		return func(_ checkpoint.ID, err error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", what, err, want)
			}
		}
	}
	is("as a node", graph.ErrInside)(in.UpdateState(t.Context(), logged("x"), graph.AsNode("a")))
	is("with Goto", graph.ErrInside)(in.UpdateState(t.Context(), logged("x"), graph.Goto(graph.To("a"))))
	is("with DiscardPending", graph.ErrInside)(in.UpdateState(t.Context(), logged("x"), graph.DiscardPending()))
	is("with At", graph.ErrInside)(in.At(stored(t, in).Checkpoint).UpdateState(t.Context(), logged("x")))
	is("as nodes", graph.ErrInside)(in.UpdateStates(t.Context(), []nodeUpdate{{Node: "a"}}))
	nowhere := graph.Inside(th, graph.SubgraphCall{Node: "sub", Namespace: "nowhere"}, child)
	is("of no call", checkpoint.ErrNotFound)(nowhere.UpdateState(t.Context(), logged("x")))
	is("of no thread", checkpoint.ErrNotFound)(graph.Inside(compile(t, alongside(nil, child), graph.Saver(s)).Thread("other"),
		graph.SubgraphCall{Node: "sub", Namespace: "nowhere"}, child).UpdateState(t.Context(), logged("x")))
	is("of another head", checkpoint.ErrConflict)(in.UpdateState(t.Context(), logged("x"), graph.IfHead(stored(t, in).Checkpoint)))
	other := compilePair(t, pairs(nil, "a"))
	is("by another graph", graph.ErrGraphChanged)(callOf(t, th, "sub", other).UpdateState(t.Context(), pairUpdate{Foo: state.Set("x")}))
	same(t, "head", stored(t, th).Checkpoint, head)

	_, err := s.Append(t.Context(), checkpoint.Append{
		Thread: "t", After: head, Open: &checkpoint.Opening{Holder: "other"}, Lease: checkpoint.DefaultLease,
		Records: []checkpoint.Record{resumeOf(t, s)},
	})
	if err != nil {
		t.Fatal(err)
	}
	busy := func(what string) func(checkpoint.ID, error) {
		return func(_ checkpoint.ID, err error) {
			t.Helper()
			if e := (*checkpoint.BusyError)(nil); !errors.As(err, &e) {
				t.Errorf("%s: got %v, want a BusyError", what, err)
			}
		}
	}
	busy("held")(in.UpdateState(t.Context(), logged("x")))
	busy("held, take over")(in.UpdateState(t.Context(), logged("x"), graph.TakeOver()))
	busy("held, of the thread")(th.UpdateState(t.Context(), logged("x"), graph.TakeOver()))
	res := done(t, graph.Done)(th.Resume(t.Context(), graph.TakeOver()))
	same(t, "log", res.State.Log, []string{"before", "sibling", "a", "b", "after"})
	is("of an ended call", graph.ErrCallEnded)(in.UpdateState(t.Context(), logged("x")))
}

// resumeOf returns the record of a resume that changes nothing.
func resumeOf(t *testing.T, s *memory.Saver) checkpoint.Record {
	t.Helper()
	c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	rec := c.Last
	if rec.ID, err = checkpoint.NewID(); err != nil {
		t.Fatal(err)
	}
	rec.Parent, rec.Commits, rec.Due, rec.Source = c.Head, checkpoint.ID{}, nil, checkpoint.Resume
	rec.Snapshot, rec.Payload = true, checkpointState(t, &c)
	return rec
}

func checkpointState(t *testing.T, c *checkpoint.Chain) []byte {
	t.Helper()
	b, err := checkpoint.Fold(c.Snapshot, c.Deltas...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAForkLeavesTheEditOfACall: the call begins again without it, and the old handle is stale.
// TestAnEditOfACallThatLostItsRaceIsRefused: the result of the winner is stored, and a sibling
// outside of the race asks.
func TestAnEditOfACallThatLostItsRaceIsRefused(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		child := compilePair(t, pairs(nil, "a", "b"), graph.InterruptBefore("b"))
		b := newWork()
		graph.MapSubgraph(b, "sub", child, toPair, fromPair)
		b.Node("fast", say("fast"))
		b.Node("ask", func(ctx context.Context, _ work) (update, error) {
			_, err := amount.Ask(ctx, "how much?")
			return logged("asked"), err
		}, amount)
		b.Node("won", say("won"))
		b.JoinAny([]graph.ID{"sub", "fast"}, "won")
		for _, id := range []graph.ID{"sub", "fast", "ask"} {
			b.Edge(graph.Start, id)
		}
		b.Edge("ask", graph.End)
		b.Edge("won", graph.End)
		th, _ := newThread(t, b, d, graph.Concurrency(1))
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		in := callOf(t, th, "sub", child)
		_, err := in.UpdateState(t.Context(), pairUpdate{Bar: state.Append("late")})
		if !errors.Is(err, graph.ErrCallEnded) && !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("got %v, want ErrCallEnded or, if the call has stored nothing, ErrNotFound", err)
		}
		if d == graph.Sync && !errors.Is(err, graph.ErrCallEnded) {
			t.Errorf("got %v, want ErrCallEnded", err)
		}
		same(t, "head", stored(t, th).Checkpoint, res.Checkpoint)
		res = done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 1)))
		same(t, "log", strings.Join(res.State.Log, ", "), "fast, asked, won")
	})
}

func TestAForkLeavesTheEditOfACall(t *testing.T) {
	child := compilePair(t, pairs(nil, "a", "b"), graph.InterruptBefore("b"))
	th, _ := newThread(t, around(t, nil, child))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	first, in := stored(t, th).Checkpoint, callOf(t, th, "sub", child)
	updated(t)(in.UpdateState(t.Context(), pairUpdate{Bar: state.Append("edited")}))
	updated(t)(th.At(first).UpdateState(t.Context(), logged("forked")))
	if _, err := in.UpdateState(t.Context(), pairUpdate{Bar: state.Append("late")}); !errors.Is(err, graph.ErrCallEnded) {
		t.Errorf("stale handle: got %v, want ErrCallEnded", err)
	}
	if _, err := callOf(t, th, "sub", child).UpdateState(t.Context(), pairUpdate{}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a call that has not begun: got %v, want ErrNotFound", err)
	}
	done(t, graph.Paused)(th.Resume(t.Context()))
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", strings.Join(res.State.Log, ", "), "before, forked, sibling, given 2 2 a+b, after")
}
