package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// steps is a chain of nodes over work that log their names and count.
func steps(l *ledger, names ...graph.ID) *graph.Builder[work, update] {
	b := newWork()
	from := graph.Start
	for _, id := range names {
		b.Node(id, step(l, string(id)))
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	return b
}

func step(l *ledger, name string) func(context.Context, work) (update, error) {
	return func(ctx context.Context, _ work) (update, error) {
		if l != nil {
			l.note(ctx)
		}
		u := logged(name)
		u.Count.Add(1)
		u.Stack.Reduce(name)
		return u, nil
	}
}

// alongside is before -> sub -> after, with another node alongside sub; sub is a graph over the
// same state.
func alongside(l *ledger, child *app, opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	for _, id := range []graph.ID{"before", "sibling", "after"} {
		b.Node(id, step(l, string(id)))
	}
	b.Subgraph("sub", child, opts...)
	b.Edge(graph.Start, "before")
	b.Edge("before", "sibling")
	b.Edge("before", "sub")
	b.Join([]graph.ID{"sibling", "sub"}, "after")
	b.Edge("after", graph.End)
	return b
}

// wantLog checks what was logged, and that all that goes with it was done as often.
func wantLog(t *testing.T, what string, s work, want string) {
	t.Helper()
	same(t, what+": log", strings.Join(s.Log, ", "), want)
	same(t, what+": stack", strings.Join(s.Stack, ", "), want)
	same(t, what+": count", s.Count, len(s.Log)+1)
}

// ranOnce checks that no task ran twice.
func ranOnce(t *testing.T, what string, l *ledger) {
	t.Helper()
	for key, n := range l.copy() {
		if n > 1 {
			t.Errorf("%s: %s ran %d times", what, l.names[key], n)
		}
	}
}

func TestASubgraphOverTheSameStateGivesBackChanges(t *testing.T) {
	child := compile(t, steps(nil, "a", "b"), graph.SubgraphOnly())
	res := done(t, graph.Done)(compile(t, alongside(nil, child), graph.Strict()).Run(t.Context(), input))
	wantLog(t, "run", res.State, "before, sibling, a, b, after")
	same(t, "steps", res.Steps, 3)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := newThread(t, alongside(nil, child), d, graph.Strict())
		res := done(t, graph.Done)(th.Invoke(t.Context(), input))
		wantLog(t, "log", res.State, "before, sibling, a, b, after")
		snap, err := compile(t, alongside(nil, child), graph.Saver(s)).Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "stored", snap.State, res.State)
	})
}

func TestASubgraphOverTheSameStateSeesWhatItsParentHas(t *testing.T) {
	inner := newWork()
	inner.Node("read", func(_ context.Context, s work) (update, error) {
		u := logged("draft " + s.Draft + " " + s.Facts["k"])
		u.Draft.Set("inner")
		u.Best.Offer(-5) // written, though less than the zero value: it counts only if nobody wrote
		u.Facts.Put("k", "changed")
		return u, nil
	})
	inner.Node("again", func(_ context.Context, s work) (update, error) {
		u := logged("then " + s.Draft)
		u.Draft.Set("left")
		return u, nil
	})
	inner.Edge(graph.Start, "read")
	inner.Edge("read", "again")
	inner.Edge("again", graph.End)
	child := compile(t, inner, graph.SubgraphOnly())
	b := newWork()
	b.Node("set", func(context.Context, work) (update, error) {
		var u update
		u.Draft.Set("outer")
		u.Best.Offer(0)
		u.Facts.Put("k", "v")
		return u, nil
	})
	b.Node("look", func(_ context.Context, s work) (update, error) {
		return logged("look " + s.Facts["k"]), nil
	})
	b.Subgraph("sub", child)
	b.Node("end", func(_ context.Context, s work) (update, error) {
		return logged(fmt.Sprint("end ", s.Draft, s.Facts["k"], s.Best)), nil
	})
	b.Edge(graph.Start, "set")
	b.Edge("set", "look")
	b.Edge("set", "sub")
	b.Join([]graph.ID{"look", "sub"}, "end")
	b.Edge("end", graph.End)
	want := []string{"look v", "draft outer v", "then inner", "end changed0"}
	res := done(t, graph.Done)(compile(t, b, graph.Strict()).Run(t.Context(), update{}))
	same(t, "run", res.State.Log, want)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, b, d)
		same(t, "log", done(t, graph.Done)(th.Invoke(t.Context(), update{})).State.Log, want)
	})
}

func TestASubgraphOverTheSameStateConflictsAsANode(t *testing.T) {
	inner := newWork()
	for _, id := range []graph.ID{"one", "two"} {
		inner.Node(id, func(context.Context, work) (update, error) {
			var u update
			u.Status.Set(string(id))
			return u, nil
		})
	}
	inner.Edge(graph.Start, "one")
	inner.Edge("one", "two") // one after the other they may both set it
	inner.Edge("two", graph.End)
	child := compile(t, inner, graph.SubgraphOnly())
	b := newWork()
	b.Subgraph("sub", child)
	b.Edge(graph.Start, "sub")
	b.Edge("sub", graph.End)
	th, _ := newThread(t, b)
	same(t, "status", done(t, graph.Done)(th.Invoke(t.Context(), input)).State.Status, "two")

	b.Node("other", func(context.Context, work) (update, error) {
		var u update
		u.Status.Set("other")
		return u, nil
	})
	b.Edge(graph.Start, "other")
	b.Edge("other", graph.End)
	th, _ = newThread(t, b)
	_, err := th.Invoke(t.Context(), input)
	var conflict *graph.ConflictError
	if !errors.As(err, &conflict) || conflict.Field != "Status" || conflict.Nodes != [2]graph.ID{"sub", "other"} {
		t.Errorf("got %v, want a conflict of sub and other over Status", err)
	}
}

func TestAFailureInASubgraphOverTheSameState(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, retry := range []bool{false, true} {
			what := fmt.Sprint("retried ", retry)
			l := new(ledger)
			var broken atomic.Int32
			broken.Store(2)
			inner := steps(l, "a")
			inner.Node("bad", func(context.Context, work) (update, error) {
				if broken.Add(-1) >= 0 {
					return update{}, errBroken
				}
				return step(nil, "bad")(nil, work{})
			})
			inner.Node("c", step(l, "c"))
			inner.Edge("a", "bad")
			inner.Edge("bad", "c")
			inner.Edge("c", graph.End)
			var opts []graph.NodeOption
			if retry {
				opts = append(opts, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: 1}))
			}
			th, _ := newThread(t, alongside(l, compile(t, inner, graph.SubgraphOnly()), opts...), d, graph.Concurrency(1))
			res, err := th.Invoke(t.Context(), input)
			for !retry && err != nil {
				var e *graph.NodeError
				if !errors.As(err, &e) || e.Node != "sub" || !errors.Is(err, errBroken) {
					t.Fatalf("%s: got %v, want the failure of sub", what, err)
				}
				res, err = th.Resume(t.Context())
			}
			wantLog(t, what, done(t, graph.Done)(res, err).State, "before, sibling, a, bad, c, after")
			ranOnce(t, what, l)
		}
	})
}

// deepSame is a graph over work with branches, a loop, a join, a stop, a question, and so many
// graphs like it in it.
func deepSame(t *testing.T, l *ledger, depth int, prefix string) *app {
	t.Helper()
	name := func(id graph.ID) string { return prefix + string(id) }
	b := newWork()
	for _, id := range []graph.ID{"a", "left", "joined", "end"} {
		b.Node(id, step(l, name(id)))
	}
	b.Node("ask", func(ctx context.Context, s work) (update, error) {
		n, err := amount.Ask(ctx, "how much?")
		if err != nil {
			return update{}, err
		}
		return step(l, fmt.Sprint(name("ask"), n))(ctx, s)
	}, amount)
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "left")
	b.Edge("a", "ask")
	b.Join([]graph.ID{"left", "ask"}, "joined")
	b.Edge("joined", "end")
	if depth > 0 {
		b.Subgraph("deep", deepSame(t, l, depth-1, prefix+"d."))
		b.Edge(graph.Start, "deep")
		b.Edge("deep", graph.End)
	}
	b.Edge("end", graph.End)
	return compile(t, b, graph.SubgraphOnly(), graph.InterruptBefore("joined"))
}

// deepSameLog is the log of a journey around two of them.
const deepSameLog = "before, sibling, a, left, d.a, d.left, d.ask7, d.joined, d.end, ask7, joined, end, after"

func TestEveryCrashPointWithSubgraphsOverTheSameState(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		everyCrashPoint(t, func(s checkpoint.Saver, l *ledger) (result, error) {
			return travelOf(t, alongside(l, deepSame(t, l, 1, "")), s, d)
		},
			func(what string, res result) { wantLog(t, what, res.State, deepSameLog) })
	})
}

// TestNothingFinishedRunsAgainInASubgraphOverTheSameState stops often, and is resumed elsewhere
// each time.
func TestNothingFinishedRunsAgainInASubgraphOverTheSameState(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l, s := new(ledger), memory.New()
		for range 20 {
			th := compile(t, alongside(l, deepSame(t, l, 1, "")), graph.Saver(s), d).Thread("t")
			res, err := th.Resume(t.Context())
			if errors.Is(err, checkpoint.ErrNotFound) {
				res, err = th.Invoke(t.Context(), input)
			}
			for _, w := range res.Questions {
				res, err = th.Resume(t.Context(), amount.Answer(w, 7))
			}
			if err != nil {
				t.Fatal(err)
			}
			if res.Status == graph.Done {
				wantLog(t, "log", res.State, deepSameLog)
				break
			}
		}
		ranOnce(t, "at the end", l)
	})
}

func TestAStreamShowsEachUpdateOfASubgraphOverTheSameState(t *testing.T) {
	th, _ := newThread(t, alongside(nil, compile(t, steps(nil, "a", "b"), graph.SubgraphOnly())))
	var got []string
	for e, err := range th.Stream(t.Context(), input) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == graph.EventUpdate && e.Path == nil {
			got = append(got, fmt.Sprint(e.Node, " ", e.Update.Log))
		}
	}
	same(t, "updates", got, []string{"before append [before]", "sibling append [sibling]", "sub append [a]", "sub append [b]", "after append [after]"})
}

// knowing fails a test when a write belongs to a record that is not stored.
type knowing struct {
	checkpoint.Saver
	t  *testing.T
	mu sync.Mutex
	of map[checkpoint.ID]bool
}

func (k *knowing) check(writes []checkpoint.Write) {
	for _, w := range writes {
		if !k.of[w.Base] && w.Kind != checkpoint.Schema {
			k.t.Errorf("write %q %q of task %s in %q belongs to a record that is not stored", w.Kind, w.Name, w.Task, w.Namespace)
		}
	}
}

func (k *knowing) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	k.mu.Lock()
	for _, r := range a.Records {
		k.of[r.ID] = true
	}
	k.check(a.Writes)
	k.mu.Unlock()
	return k.Saver.Append(ctx, a)
}

func (k *knowing) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	k.mu.Lock()
	k.check(w.Writes)
	k.mu.Unlock()
	return k.Saver.PutWrites(ctx, w)
}

func TestWhatASubgraphStoresBelongsToStoredRecords(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		asks := newWork()
		asks.Node("a", say("a"))
		asks.Node("ask", func(ctx context.Context, _ work) (update, error) {
			n, err := amount.Ask(ctx, "how much?")
			return logged(fmt.Sprint(n)), err
		}, amount)
		asks.Edge(graph.Start, "a")
		asks.Edge("a", "ask")
		asks.Edge("ask", graph.End)
		child := compile(t, asks, graph.SubgraphOnly())
		for range 3 {
			b := newWork()
			b.Subgraph("deep", child)
			b.Edge(graph.Start, "deep")
			b.Edge("deep", graph.End)
			child = compile(t, b, graph.SubgraphOnly())
		}
		b := newWork()
		b.Subgraph("sub", child)
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
		s := &knowing{Saver: memory.New(), t: t, of: map[checkpoint.ID]bool{}}
		res := done(t, graph.Waiting)(compile(t, b, graph.Saver(s), d).Thread("t").Invoke(t.Context(), input))
		res = done(t, graph.Done)(compile(t, b, graph.Saver(s), d).Thread("t").Resume(t.Context(), amount.Answer(res.Questions[0], 5)))
		same(t, "log", res.State.Log, []string{"a", "5"})
	})
}

// clash is a graph whose subgraph asks and then sets a field that another node sets, until mend is
// called. The subgraph is over the same state, or over its own.
func clash(t *testing.T, own bool) (b *graph.Builder[work, update], mend func()) {
	t.Helper()
	mended := false
	b = newWork()
	b.Node("other", func(context.Context, work) (update, error) {
		var u update
		u.Status.Set("other")
		return u, nil
	})
	if own {
		inner := asking(nil)
		inner.Node("last", func(context.Context, pair) (pairUpdate, error) {
			return pairUpdate{Bar: state.Append(fmt.Sprint("mended ", mended))}, nil
		})
		inner.Edge("b", "last")
		inner.Edge("last", graph.End)
		graph.MapSubgraph(b, "sub", compilePair(t, inner), toPair, func(_ context.Context, _ work, p pair) (update, error) {
			u := logged(p.Bar...)
			if p.Bar[len(p.Bar)-1] == "mended false" {
				u.Status.Set("clash")
			}
			return u, nil
		})
	} else {
		inner := newWork()
		inner.Node("ask", func(ctx context.Context, _ work) (update, error) {
			n, err := amount.Ask(ctx, "how much?")
			return logged(fmt.Sprint(n)), err
		}, amount)
		inner.Node("last", func(context.Context, work) (update, error) {
			u := logged(fmt.Sprint("mended ", mended))
			if !mended {
				u.Status.Set("clash")
			}
			return u, nil
		})
		inner.Edge(graph.Start, "ask")
		inner.Edge("ask", "last")
		inner.Edge("last", graph.End)
		b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
	}
	b.Edge(graph.Start, "other")
	b.Edge(graph.Start, "sub")
	b.Edge("other", graph.End)
	b.Edge("sub", graph.End)
	return b, func() { mended = true }
}

func TestRerunStartsASubgraphAgain(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, own := range []bool{false, true} {
			what := fmt.Sprint("state of its own ", own)
			b, mend := clash(t, own)
			th, s := newThread(t, b, d)
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
			var conflict *graph.ConflictError
			if _, err := th.Resume(t.Context(), amount.Answer(res.Questions[0], 1)); !errors.As(err, &conflict) {
				t.Fatalf("%s: got %v, want a conflict", what, err)
			}
			mend()
			if _, err := th.Resume(t.Context()); !errors.As(err, &conflict) {
				t.Fatalf("%s: resumed: got %v, want the conflict again", what, err)
			}
			res = done(t, graph.Waiting)(th.Resume(t.Context(), graph.Rerun("sub")))
			same(t, what+": questions", len(res.Questions), 1)
			same(t, what+": questions listed", waitingThreads(t, s), res.Questions)
			res = done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 2)))
			same(t, what+": last", res.State.Log[len(res.State.Log)-1], "mended true")
			same(t, what+": status", res.State.Status, "other")
		}
	})
}

func TestRerunWhileASubgraphAsksDropsItsQuestion(t *testing.T) {
	for _, own := range []bool{false, true} {
		b, _ := clash(t, own)
		th, s := newThread(t, b)
		first := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions
		again := done(t, graph.Waiting)(th.Resume(t.Context(), graph.Rerun("sub"))).Questions
		same(t, "questions", len(again), 1)
		same(t, "questions listed", waitingThreads(t, s), again)
		if first[0].ID == again[0].ID {
			t.Errorf("state of its own %t: it asks the old question", own)
		}
	}
}

// TestACrashDoesNotForgetThatASubgraphRunsAgain dies everywhere in a Resume with Rerun, and in a
// second one.
func TestACrashDoesNotForgetThatASubgraphRunsAgain(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, own := range []bool{false, true} {
			for again := range 2 {
				what := fmt.Sprintf("state of its own %t, begun anew before %d", own, again)
				b, mend := clash(t, own)
				mend()
				broken, _ := clash(t, own)
				on := func(s checkpoint.Saver) thread { return compile(t, b, graph.Saver(s), d).Thread("t") }
				var before checkpoint.ID
				crashes(t, what, 3,
					func(s checkpoint.Saver) {
						th := compile(t, broken, graph.Saver(s), d).Thread("t")
						res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
						var conflict *graph.ConflictError
						if _, err := th.Resume(t.Context(), amount.Answer(res.Questions[0], 1)); !errors.As(err, &conflict) {
							t.Fatalf("%s: got %v, want a conflict", what, err)
						}
						for range again {
							done(t, graph.Waiting)(on(s).Resume(t.Context(), graph.Rerun("sub")))
						}
						before = threadOf(t, s).Head
					},
					func(s checkpoint.Saver) error { _, err := on(s).Resume(t.Context(), graph.Rerun("sub")); return err },
					func(what string, s checkpoint.Saver) {
						if threadOf(t, s).Head == before {
							return // the Rerun had no effect
						}
						snap, err := on(s).State(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						res := done(t, graph.Waiting)(on(s).Resume(t.Context(), graph.TakeOver()))
						if len(snap.Questions) > 0 {
							same(t, what+": questions right after the crash", snap.Questions, res.Questions)
						}
						same(t, what+": questions", waitingThreads(t, s), res.Questions)
						res = done(t, graph.Done)(on(s).Resume(t.Context(), amount.Answer(res.Questions[0], 2)))
						same(t, what, res.State.Log[len(res.State.Log)-1], "mended true")
						same(t, what+": questions in the end", len(waitingThreads(t, s)), 0)
					})
			}
		}
	})
}

// TestAnEditAsASubgraphOverTheSameState merges the edit (rule 16.5), which no call made.
func TestAnEditAsASubgraphOverTheSameState(t *testing.T) {
	child, err := chain("in").Compile(graph.SubgraphOnly())
	if err != nil {
		t.Fatal(err)
	}
	b := newWork()
	b.Subgraph("sub", child)
	b.Node("after", say("after"))
	b.Edge(graph.Start, "sub")
	b.Edge("sub", "after")
	b.Edge("after", graph.End)
	th, _ := newThread(t, b)
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	if _, err := th.UpdateState(t.Context(), logged("edit"), graph.AsNode("sub")); err != nil {
		t.Fatal(err)
	}
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"in", "after", "edit", "after"})
}
