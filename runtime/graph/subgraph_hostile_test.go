package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// tally counts how often nodes returned a result, by name.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (y *tally) add(name string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.n == nil {
		y.n = map[string]int{}
	}
	y.n[name]++
	return y.n[name]
}

func (y *tally) copy() map[string]int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return maps.Clone(y.n)
}

// once checks that each of the named nodes returned a result once.
func (y *tally) once(t *testing.T, what string, names ...string) {
	t.Helper()
	got := y.copy()
	for _, name := range names {
		if got[name] != 1 {
			t.Errorf("%s: %s returned a result %d times, want once", what, name, got[name])
		}
	}
}

// counted logs its name, as step does, and counts.
func counted(y *tally, name string) func(context.Context, work) (update, error) {
	return func(ctx context.Context, s work) (update, error) {
		y.add(name)
		return step(nil, name)(ctx, s)
	}
}

// brittle is counted, after it failed so many times.
func brittle(y *tally, name string, times int32) func(context.Context, work) (update, error) {
	var left atomic.Int32
	left.Store(times)
	return func(ctx context.Context, s work) (update, error) {
		if left.Add(-1) >= 0 {
			return update{}, errBroken
		}
		return counted(y, name)(ctx, s)
	}
}

// line is a chain of nodes.
func line(b *graph.Builder[work, update], ids ...graph.ID) *graph.Builder[work, update] {
	from := graph.Start
	for _, id := range ids {
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	return b
}

// only is a graph of one subgraph over the same state.
func only(child *app, opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	b.Subgraph("sub", child, opts...)
	return line(b, "sub")
}

// twoFaults is a graph that fails twice, at different nodes.
func twoFaults(t *testing.T, y *tally) *app {
	t.Helper()
	b := newWork()
	b.Node("a", counted(y, "a"))
	b.Node("b", brittle(y, "b", 1))
	b.Node("c", counted(y, "c"))
	b.Node("d", brittle(y, "d", 1))
	b.Node("e", counted(y, "e"))
	return compile(t, line(b, "a", "b", "c", "d", "e"), graph.SubgraphOnly())
}

func TestEachAttemptOfASubgraphContinuesWhereTheLastOneFailed(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for attempts := 1; attempts <= 3; attempts++ {
			what := fmt.Sprint("attempts ", attempts)
			y := new(tally)
			th, _ := newThread(t, only(twoFaults(t, y), graph.Retry(graph.RetryPolicy{Attempts: attempts, Base: 1})), d)
			res, err := th.Invoke(t.Context(), input)
			for range 3 - attempts {
				if !errors.Is(err, errBroken) {
					t.Fatalf("%s: got %v, want the failure of a node", what, err)
				}
				if res, err = th.Resume(t.Context()); attempts == 2 {
					break
				}
			}
			wantLog(t, what, done(t, graph.Done)(res, err).State, "a, b, c, d, e")
			y.once(t, what, "a", "b", "c", "d", "e")
		}
	})
}

func TestAStepOfASubgraphThatChangesNothing(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		y := new(tally)
		empty := newWork()
		empty.Node("never", say("never"))
		empty.Route(graph.Start, choose(graph.End), "never", graph.End)
		empty.Edge("never", graph.End)
		inner := newWork()
		inner.Node("a", counted(y, "a"))
		inner.Subgraph("empty", compile(t, empty, graph.SubgraphOnly()))
		inner.Node("b", counted(y, "b"))
		inner.Subgraph("blank", compile(t, empty, graph.SubgraphOnly()))
		inner.Node("c", counted(y, "c"))
		line(inner, "a", "empty", "b", "blank", "c")
		th, s := newThread(t, only(compile(t, inner, graph.SubgraphOnly(), graph.InterruptBefore("b", "c"))), d)
		done(t, graph.Paused)(th.Invoke(t.Context(), input))
		th = compile(t, only(compile(t, inner, graph.SubgraphOnly(), graph.InterruptBefore("b", "c"))), graph.Saver(s), d).Thread("t")
		done(t, graph.Paused)(th.Resume(t.Context()))
		wantLog(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State, "a, b, c")
		y.once(t, "at the end", "a", "b", "c")
	})
}

// faulty fails two Appends to the namespaces of subgraphs that come after so many others. They are
// made, or not.
type faulty struct {
	checkpoint.Saver
	left  atomic.Int32
	after bool
}

var errFaulty = errors.New("the server is away")

func (f *faulty) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Namespace == "" {
		return f.Saver.Append(ctx, a)
	}
	if left := f.left.Add(-1); left != -1 && left != -2 {
		return f.Saver.Append(ctx, a)
	}
	if f.after {
		if _, err := f.Saver.Append(ctx, a); err != nil {
			return checkpoint.AppendResult{}, err
		}
	}
	return checkpoint.AppendResult{}, errFaulty
}

// TestAnAppendOfASubgraphThatFails makes one saver call of a subgraph fail. The later writes of
// the subgraph count, not those that failed.
func TestAnAppendOfASubgraphThatFails(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for left := range int32(6) {
			for _, after := range []bool{false, true} {
				for attempts := 1; attempts <= 2; attempts++ {
					what := fmt.Sprintf("append %d, made %t, attempts %d", left, after, attempts)
					unlike := new(tally) // what nodes say differs in each run of them
					inner := newWork()
					for _, id := range []graph.ID{"a", "b", "c"} {
						inner.Node(id, func(context.Context, work) (update, error) {
							return logged(fmt.Sprint(id, unlike.add(string(id)))), nil
						})
					}
					inner.Node("ask", func(ctx context.Context, s work) (update, error) {
						n, err := amount.Ask(ctx, "how much?")
						return logged(fmt.Sprint(n, " for ", s.Log)), err
					}, amount)
					line(inner, "a", "b", "ask", "c")
					s := &faulty{Saver: memory.New(), after: after}
					s.left.Store(left)
					b := only(compile(t, inner, graph.SubgraphOnly()), graph.Retry(graph.RetryPolicy{Attempts: attempts, Base: 1}))
					th := compile(t, b, graph.Saver(s)).Thread("t")
					res, err := th.Invoke(t.Context(), input, d)
					for range 6 {
						switch {
						case err != nil && !errors.Is(err, errFaulty):
							t.Fatalf("%s: got %v", what, err)
						case err == nil && res.Status == graph.Done:
						case err == nil && len(res.Questions) > 0:
							res, err = th.Resume(t.Context(), amount.Answer(res.Questions[0], 5), graph.Sync)
							continue
						default:
							res, err = th.Resume(t.Context(), graph.Sync)
							continue
						}
						break
					}
					log := done(t, graph.Done)(res, err).State.Log
					if len(log) != 4 || log[2] != fmt.Sprint(5, " for ", log[:2]) {
						t.Errorf("%s: got log %q, want what ask saw, its answer, and c", what, log)
					}
				}
			}
		}
	})
}

func TestWhatASubgraphDidIsKeptWhenOutFails(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for attempts := 1; attempts <= 2; attempts++ {
			what := fmt.Sprint("attempts ", attempts)
			l := new(ledger)
			broken := true
			b := newWork()
			graph.MapSubgraph(b, "sub", compilePair(t, pairs(l, "a", "b")), toPair,
				func(ctx context.Context, s work, p pair) (update, error) {
					if broken {
						broken = false
						return update{}, errBroken
					}
					return fromPair(ctx, s, p)
				}, graph.Retry(graph.RetryPolicy{Attempts: attempts, Base: 1}))
			th, _ := newThread(t, line(b, "sub"), d)
			res, err := th.Invoke(t.Context(), input)
			if attempts == 1 {
				if !errors.Is(err, errBroken) {
					t.Fatalf("%s: got %v, want errBroken", what, err)
				}
				res, err = th.Resume(t.Context())
			}
			same(t, what, done(t, graph.Done)(res, err).State.Log, []string{"given 0 0 a+b"})
			ranOnce(t, what, l)
		}
	})
}

// TestARunThatDiedIsResumedWithAnotherDurability kills runs that store nothing until they end, and
// resumes them.
func TestARunThatDiedIsResumedWithAnotherDurability(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, d2 := range []graph.Durability{graph.Sync, graph.Async, graph.OnExit} {
			for left := range 100 {
				what := fmt.Sprintf("crash at call %d", left)
				s := memory.New()
				_, err := mixedTravel(t, &crashing{Saver: s, left: 1 + left/2, after: left%2 == 1}, "t", d)
				if err == nil {
					break
				}
				if !errors.Is(err, errCrash) {
					t.Fatalf("%s: got %v", what, err)
				}
				res, err := mixedTravel(t, s, "t", d2)
				if err != nil {
					t.Fatalf("%s: after the crash: %v", what, err)
				}
				same(t, what, strings.Join(res.State.Log, ", "), mixedLog)
			}
		}
	})
}

const mixedLog = "begin, given 1: 3 1 a+b, x, y, in, begin, given 6: 3 6 a+b, x, y, in in, end"

// mixed is a loop with subgraphs of each kind. One has a state of its own. One, over the same
// state, asks and chooses for its parent. One is Stateful.
func mixed(t *testing.T, y *tally) *graph.Builder[work, update] {
	t.Helper()
	if y == nil {
		y = new(tally)
	}
	up := newWork()
	up.Node("x", counted(y, "x"))
	up.Node("y", counted(y, "y"))
	up.Route("y", func(context.Context, work) (graph.Next, error) { return graph.ToParent(graph.To("memory")), nil }, graph.Parent)
	up.Edge(graph.Start, "x")
	up.Edge("x", "y")
	b := newWork()
	b.Node("begin", counted(y, "begin"))
	graph.MapSubgraph(b, "own", compilePair(t, asking(nil), graph.InterruptBefore("b")), toPair, fromPair)
	b.Subgraph("same", compile(t, up, graph.SubgraphOnly(), graph.InterruptBefore("y")), graph.Targets("memory"))
	graph.MapSubgraph(b, "memory", compilePair(t, pairs(nil, "in")),
		func(context.Context, work) (pairUpdate, error) { return pairUpdate{Foo: state.Set("")}, nil },
		func(_ context.Context, _ work, p pair) (update, error) {
			return logged(strings.Join(p.Bar, " ")), nil
		}, graph.Stateful())
	b.Node("end", counted(y, "end"))
	b.Edge(graph.Start, "begin")
	b.Edge("begin", "own")
	b.Edge("own", "same")
	b.Route("memory", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log) < 10 {
			return graph.To("begin"), nil
		}
		return graph.To("end"), nil
	}, "begin", "end")
	b.Edge("end", graph.End)
	return b
}

func TestARenamedNodeIsWhatASubgraphSentItsParentTo(t *testing.T) {
	for depth := range 3 {
		build := func(person graph.ID, opts ...graph.NodeOption) *graph.Builder[work, update] {
			up := newWork()
			up.Node("a", say("a"))
			up.Route("a", func(context.Context, work) (graph.Next, error) {
				n := graph.To(person)
				for range depth + 1 {
					n = graph.ToParent(n)
				}
				return n, nil
			}, graph.Parent)
			up.Edge(graph.Start, "a")
			child := compile(t, up, graph.SubgraphOnly())
			for range depth {
				m := newWork()
				m.Subgraph("deep", child, graph.Targets(graph.Parent))
				m.Edge(graph.Start, "deep")
				child = compile(t, m, graph.SubgraphOnly())
			}
			b := newWork()
			b.Subgraph("sub", child, graph.Targets(person))
			b.Node(person, say("has it"), opts...)
			b.Edge(graph.Start, "sub")
			b.Edge(person, graph.End)
			return b
		}
		for left := range 20 {
			what := fmt.Sprintf("depth %d, crash at call %d", depth, left)
			s := memory.New()
			_, err := compile(t, build("person"), graph.Saver(&crashing{Saver: s, left: 1 + left/2, after: left%2 == 1})).Thread("t").Invoke(t.Context(), input)
			if err == nil {
				break
			}
			th := compile(t, build("human", graph.FormerIDs("person")), graph.Saver(s)).Thread("t")
			res, err := th.Resume(t.Context(), graph.TakeOver())
			if errors.Is(err, checkpoint.ErrNotFound) {
				continue
			}
			same(t, what, done(t, graph.Done)(res, err).State.Log, []string{"a", "has it"})
		}
	}
}

func TestASubgraphWithAPendingRouteEndsBeforeItsParentContinues(t *testing.T) {
	inner := newWork()
	inner.Node("a", say("a"))
	inner.Node("b", say("b"))
	inner.Route("a", func(context.Context, work) (graph.Next, error) { return graph.ToParent(graph.To(graph.End)), nil }, graph.Parent)
	inner.Edge(graph.Start, "a")
	inner.Edge("a", "b")
	inner.Edge("b", graph.End)
	b := newWork()
	b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly(), graph.InterruptAfter("a"), graph.BeforeRoute()), graph.Targets(graph.End))
	b.Edge(graph.Start, "sub")
	th, _ := newThread(t, b)
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.Resume(t.Context()); err == nil || !strings.Contains(err.Error(), "Parent is chosen while [b] is due in the subgraph") {
		t.Errorf("got %v, want an error that names b", err)
	}
}

func TestASubgraphThatRemembersInOneThatDoes(t *testing.T) {
	middle := graph.New("middle", teststate.PairSchema)
	graph.MapSubgraph(middle, "deep", compilePair(t, pairs(nil, "d")),
		func(context.Context, pair) (pairUpdate, error) { return pairUpdate{}, nil },
		func(_ context.Context, _, c pair) (pairUpdate, error) {
			return pairUpdate{Foo: state.Set(strings.Join(c.Bar, ""))}, nil
		}, graph.Stateful())
	middle.Edge(graph.Start, "deep")
	middle.Edge("deep", graph.End)
	b := newWork()
	graph.MapSubgraph(b, "sub", compilePair(t, middle),
		func(context.Context, work) (pairUpdate, error) { return pairUpdate{}, nil },
		func(_ context.Context, _ work, p pair) (update, error) { return logged(p.Foo), nil }, graph.Stateful())
	b.Route("sub", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log) < 3 {
			return graph.To("sub"), nil
		}
		return graph.To(graph.End), nil
	}, "sub", graph.End)
	b.Edge(graph.Start, "sub")
	want := []string{"d", "dd", "ddd"}
	same(t, "run", done(t, graph.Done)(compile(t, b).Run(t.Context(), input)).State.Log, want)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, b, d)
		same(t, "log", done(t, graph.Done)(th.Invoke(t.Context(), input)).State.Log, want)
	})
}

func TestRerunStartsASubgraphAgainWhenItsInputFailsAtFirst(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		calls, broken := 0, true
		b := newWork()
		graph.MapSubgraph(b, "sub", compilePair(t, pairs(nil, "a")),
			func(context.Context, work) (pairUpdate, error) {
				if calls++; calls == 2 {
					return pairUpdate{}, errBroken
				}
				return pairUpdate{Foo: state.Set(fmt.Sprint("call ", calls))}, nil
			},
			func(_ context.Context, _ work, p pair) (update, error) { return logged(p.Foo), nil },
			graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
		b.Route("sub", func(context.Context, work) (graph.Next, error) {
			if broken {
				return graph.Next{}, errBroken
			}
			return graph.To(graph.End), nil
		}, graph.End)
		b.Edge(graph.Start, "sub")
		th, _ := newThread(t, b, d)
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want errBroken", err)
		}
		broken = false
		res := done(t, graph.Done)(th.Resume(t.Context(), graph.Rerun("sub")))
		same(t, "log", res.State.Log, []string{"call 3"})
	})
}

// TestARunThatLostItsThreadDoesNotRetryASubgraph: once another run has the thread, a subgraph is
// not tried again.
func TestARunThatLostItsThreadDoesNotRetryASubgraph(t *testing.T) {
	for _, kind := range []string{"own", "same"} {
		s := memory.New()
		y := new(tally)
		stolen := false
		steal := func() {
			y.add("node")
			if stolen {
				return
			}
			stolen = true
			th := compile(t, chain("sub"), graph.Saver(s)).Thread("t")
			if _, err := th.UpdateState(t.Context(), logged("thief"), graph.TakeOver()); err != nil {
				t.Error(err)
			}
		}
		b := newWork()
		retry := graph.Retry(graph.RetryPolicy{Attempts: 5, Base: 1})
		if kind == "own" {
			inner := graph.New("inner", teststate.PairSchema)
			inner.Node("a", func(context.Context, pair) (pairUpdate, error) { steal(); return pairUpdate{}, nil })
			inner.Edge(graph.Start, "a")
			inner.Edge("a", graph.End)
			graph.MapSubgraph(b, "sub", compilePair(t, inner), toPair, fromPair, retry)
		} else {
			inner := newWork()
			inner.Node("a", func(context.Context, work) (update, error) { steal(); return update{}, nil })
			b.Subgraph("sub", compile(t, line(inner, "a"), graph.SubgraphOnly()), retry)
		}
		_, err := compile(t, line(b, "sub"), graph.Saver(s)).Thread("t").Invoke(t.Context(), input)
		if !errors.Is(err, checkpoint.ErrConflict) {
			t.Fatalf("%s: got %v, want ErrConflict", kind, err)
		}
		same(t, kind+": runs of the node", y.copy()["node"], 1)
	}
}

// TestTheOldQuestionsOfASubgraphThatStartedAgain: the questions that a subgraph asked before it
// started again are no longer open, at any depth.
func TestTheOldQuestionsOfASubgraphThatStartedAgain(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for depth := range 3 {
			what := fmt.Sprint("depth ", depth)
			child := compilePair(t, asking(nil))
			for range depth {
				child = nest(t, child)
			}
			th, s := newThread(t, around(t, nil, child), d)
			old := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions
			res := done(t, graph.Waiting)(th.Resume(t.Context(), graph.Rerun("sub")))
			if len(res.Questions) != 1 || res.Questions[0].ID == old[0].ID {
				t.Fatalf("%s: asked %v, then %v; want one of its own each", what, old, res.Questions)
			}
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, what+": waiting", snap.Questions, res.Questions)
			same(t, what+": listed", waitingThreads(t, s), res.Questions)
			if _, err := th.Resume(t.Context(), amount.Answer(old[0], 1)); !errors.Is(err, graph.ErrNotAsked) {
				t.Errorf("%s: the answer to the old question: got %v, want ErrNotAsked", what, err)
			}
			done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 1)))
			same(t, what+": listed in the end", len(waitingThreads(t, s)), 0)
		}
	})
}

// TestASubgraphBeginsWhileItsSiblingsAreStored, in a subgraph whose own first checkpoint is stored
// with the first of them. The race detector finds the faults.
func TestASubgraphBeginsWhileItsSiblingsAreStored(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		middle := newWork()
		middle.Node("a", say("a"))
		graph.MapSubgraph(middle, "deep", compilePair(t, pairs(nil, "x", "y")), toPair, fromPair)
		middle.Node("b", say("b"))
		for _, id := range []graph.ID{"a", "deep", "b"} {
			middle.Edge(graph.Start, id)
			middle.Edge(id, graph.End)
		}
		th, _ := newThread(t, only(compile(t, middle, graph.SubgraphOnly(), graph.Concurrency(1))), d)
		res := done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "log", res.State.Log, []string{"a", "given 0 0 x+y", "b"})
	})
}

// TestASubgraphThatStartedAgainBeforeACrashAsksTheSame: a run starts a subgraph again and dies
// after a node deeper in it has asked. The next run starts the subgraph again, and the question is
// that of the new call.
func TestASubgraphThatStartedAgainBeforeACrashAsksTheSame(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for depth := range 3 {
			for left, more := 1, true; more; left++ {
				more = false
				for _, after := range []bool{false, true} {
					what := fmt.Sprintf("depth %d, crash at call %d, after it was made %t", depth, left, after)
					child := compilePair(t, asking(nil))
					for range depth {
						child = nest(t, child)
					}
					s := memory.New()
					th := compile(t, around(t, nil, child), graph.Saver(s), d).Thread("t")
					done(t, graph.Waiting)(th.Invoke(t.Context(), input))
					dying := compile(t, around(t, nil, child), graph.Saver(&crashing{Saver: s, left: left, after: after}), d).Thread("t")
					if _, err := dying.Resume(t.Context(), graph.Rerun("sub")); err == nil {
						continue
					}
					more = true
					res := done(t, graph.Waiting)(th.Resume(t.Context(), graph.Rerun("sub"), graph.TakeOver()))
					if len(res.Questions) != 1 {
						t.Fatalf("%s: it waits for %v, want one question", what, res.Questions)
					}
					snap, err := th.State(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					same(t, what+": waiting", snap.Questions, res.Questions)
					same(t, what+": listed", waitingThreads(t, s), res.Questions)
					done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 1)))
				}
			}
		}
	})
}

func TestWhatASubgraphAskedThatLostARace(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for depth := range 3 {
			what := fmt.Sprint("depth ", depth)
			inner := newWork()
			inner.Node("a", say("a"))
			inner.Node("ask", func(ctx context.Context, _ work) (update, error) {
				n, err := amount.Ask(ctx, "how much?")
				return logged(fmt.Sprint(n)), err
			}, amount)
			child := compile(t, line(inner, "a", "ask"), graph.SubgraphOnly())
			for range depth {
				child = compile(t, only(child), graph.SubgraphOnly())
			}
			var broken atomic.Bool
			broken.Store(true)
			b := newWork()
			b.Subgraph("sub", child)
			b.Node("fast", func(context.Context, work) (update, error) {
				if broken.Load() {
					return update{}, errBroken
				}
				return logged("fast"), nil
			})
			b.Node("end", func(ctx context.Context, _ work) (update, error) {
				sure, err := refund.Ask(ctx, doc{Name: "sure?"})
				return logged(fmt.Sprint("sure ", sure)), err
			}, refund)
			b.Edge(graph.Start, "sub")
			b.Edge(graph.Start, "fast")
			b.JoinAny([]graph.ID{"sub", "fast"}, "end")
			b.Edge("end", graph.End)
			th, s := newThread(t, b, d)
			if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
				t.Fatalf("%s: got %v, want errBroken", what, err)
			}
			broken.Store(false)
			res := done(t, graph.Waiting)(th.Resume(t.Context()))
			same(t, what+": nodes that ask", len(res.Questions), 1)
			same(t, what+": listed", waitingThreads(t, s), res.Questions)
			res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
			same(t, what, res.State.Log, []string{"fast", "sure true"})
		}
	})
}

// TestSubgraphsOfEachKindOnEachSaver kills a run at many places, resumes it, and checks the open
// questions.
func TestSubgraphsOfEachKindOnEachSaver(t *testing.T) {
	eachSaver(t, kindsOn)
}

func kindsOn(t *testing.T, s checkpoint.Saver) {
	t.Helper()
	for left := range 40 {
		id := fmt.Sprint("crash at call ", left)
		if _, err := mixedTravel(t, &crashing{Saver: s, left: 1 + left/2, after: left%2 == 1}, id, graph.Sync); err != nil && !errors.Is(err, errCrash) {
			t.Fatalf("%s: got %v", id, err)
		}
		res := done(t, graph.Done)(mixedTravel(t, s, id, graph.Sync))
		same(t, id, strings.Join(res.State.Log, ", "), mixedLog)
	}
	th := compile(t, around(t, nil, nest(t, compilePair(t, asking(nil)))), graph.Saver(s)).Thread("asked")
	done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	res := done(t, graph.Waiting)(th.Resume(t.Context(), graph.Rerun("sub")))
	same(t, "listed", waitingThreads(t, s), res.Questions)
	done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 1)))
}

// mixedTravel resumes until the thread is finished, and answers its questions.
func mixedTravel(t *testing.T, s checkpoint.Saver, id string, d graph.Durability) (res result, err error) {
	t.Helper()
	th := compile(t, mixed(t, nil), graph.Saver(s), d).Thread(id)
	for range 30 {
		if err != nil || res.Status == graph.Done {
			break
		}
		opts := []graph.ResumeOption{graph.TakeOver()}
		for _, w := range res.Questions {
			opts = append(opts, amount.Answer(w, 3))
		}
		res, err = th.Resume(t.Context(), opts...)
		if errors.Is(err, checkpoint.ErrNotFound) {
			res, err = th.Invoke(t.Context(), input, graph.TakeOver())
		}
	}
	return res, err
}

// changedWork returns a Builder over a schema that has changed since, as far as its fingerprint
// tells.
func changedWork() *graph.Builder[work, update] {
	changed := *teststate.WorkSchema
	changed.Fingerprint++
	return graph.New("g", &changed)
}

func TestASubgraphThatAskedFirstContinuesAfterItsSchemaChanged(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		y := new(tally)
		build := func(newWork func() *graph.Builder[work, update]) *graph.Builder[work, update] {
			inner := newWork()
			inner.Node("sibling", counted(y, "sibling"))
			inner.Node("ask", func(ctx context.Context, _ work) (update, error) {
				one, err := amount.Ask(ctx, "one?", graph.As("one"))
				if err != nil {
					return update{}, err
				}
				two, err := amount.Ask(ctx, "two?", graph.As("two"))
				return logged(fmt.Sprint(one, two)), err
			}, amount)
			for _, id := range []graph.ID{"sibling", "ask"} {
				inner.Edge(graph.Start, id)
				inner.Edge(id, graph.End)
			}
			b := newWork()
			b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
			return line(b, "sub")
		}
		s := memory.New()
		res := done(t, graph.Waiting)(compile(t, build(newWork), graph.Saver(s), d).Thread("t").Invoke(t.Context(), input))
		th := compile(t, build(changedWork), graph.Saver(s), d).Thread("t")
		res = done(t, graph.Waiting)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 1)))
		res = done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 2)))
		same(t, "log", res.State.Log, []string{"sibling", "1 2"})
		y.once(t, "at the end", "sibling")
	})
}

func TestWhatAStreamShowedOfASubgraphStays(t *testing.T) {
	b := newWork()
	put := func(id graph.ID) {
		b.Node(id, func(context.Context, work) (update, error) {
			var u update
			u.Facts.Put(string(id), "v")
			return u, nil
		})
	}
	put("first")
	b.Subgraph("sub", compile(t, steps(nil, "x"), graph.SubgraphOnly()))
	put("second")
	b.Edge(graph.Start, "first")
	for _, id := range []graph.ID{"sub", "second"} {
		b.Edge("first", id)
		b.Edge(id, graph.End)
	}
	th, s := newThread(t, b, graph.InterruptBefore("sub"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	th = compile(t, b, graph.Saver(s)).Thread("t")
	var seen []work
	for e, err := range th.ResumeStream(t.Context(), graph.Events(graph.EventState)) {
		if err != nil {
			t.Fatal(err)
		}
		if child, ok := e.Child.(graph.Event[work, update]); ok && e.Kind == graph.EventState {
			seen = append(seen, child.State)
		}
	}
	if len(seen) == 0 {
		t.Fatal("the stream showed no state of the subgraph")
	}
	for _, state := range seen {
		same(t, "facts", state.Facts, map[string]string{"first": "v"})
	}
}

// TestTwoNodesThatRememberedBecomeOne: the node that kept its id continues with its own state.
func TestTwoNodesThatRememberedBecomeOne(t *testing.T) {
	sub := func(b *graph.Builder[work, update], id graph.ID, opts ...graph.NodeOption) {
		graph.MapSubgraph(b, id, compilePair(t, pairs(nil, "a")),
			func(context.Context, work) (pairUpdate, error) {
				return pairUpdate{Bar: state.Append("of " + string(id))}, nil
			},
			func(_ context.Context, _ work, p pair) (update, error) { return logged(strings.Join(p.Bar, " ")), nil },
			append(opts, graph.Stateful())...)
	}
	for range 20 {
		b := newWork()
		sub(b, "one")
		sub(b, "two")
		th, s := newThread(t, line(b, "one", "two"))
		done(t, graph.Done)(th.Invoke(t.Context(), input))
		b = newWork()
		sub(b, "two", graph.FormerIDs("one"))
		res := done(t, graph.Done)(compile(t, line(b, "two"), graph.Saver(s)).Thread("t").Invoke(t.Context(), input))
		same(t, "log", res.State.Log[2], "of two a of two a")
	}
}

func TestInsideWithAnotherGraph(t *testing.T) {
	child := compilePair(t, pairs(nil, "a"))
	th, _ := newThread(t, around(t, nil, child))
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range snap.Calls {
			in := graph.Inside(th, call, compile(t, chain("a"), graph.SubgraphOnly()))
			if snap, err := in.State(t.Context()); !errors.Is(err, graph.ErrGraphChanged) {
				t.Errorf("State: got %+v, %v; want ErrGraphChanged", snap, err)
			}
			for snap, err := range in.History(t.Context(), checkpoint.Query{}) {
				if !errors.Is(err, graph.ErrGraphChanged) {
					t.Errorf("History: got %+v, %v; want ErrGraphChanged", snap, err)
				}
			}
		}
	}
}

// TestManySubgraphsAtOnce has many subgraphs of one superstep work on one state, two of them deep.
func TestManySubgraphsAtOnce(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		// A bubble ends when all goroutines in it have, and fails when one never does: nothing may
		// be left behind.
		synctest.Test(t, func(t *testing.T) { manySubgraphs(t, d) })
	})
}

func manySubgraphs(t *testing.T, d graph.Durability) {
	t.Helper()
	const wide = 60
	b := newWork()
	b.Node("before", func(ctx context.Context, s work) (update, error) {
		u, err := step(nil, "before")(ctx, s)
		u.Facts.Put("k", "v")
		return u, err
	})
	b.Edge(graph.Start, "before")
	want := []string{"before"}
	for i := range wide {
		id := graph.ID(fmt.Sprint("sub", i))
		inner := newWork()
		inner.Subgraph("deep", compile(t, steps(nil, id+"a", id+"b"), graph.SubgraphOnly()))
		inner.Node("fact", func(_ context.Context, s work) (update, error) {
			var u update
			u.Facts.Put(string(id), s.Facts["k"])
			return u, nil
		})
		b.Subgraph(id, compile(t, line(inner, "deep", "fact"), graph.SubgraphOnly()))
		b.Edge("before", id)
		b.Edge(id, graph.End)
		want = append(want, string(id)+"a", string(id)+"b")
	}
	th, s := newThread(t, b, d)
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	wantLog(t, "log", res.State, strings.Join(want, ", "))
	same(t, "facts", len(res.State.Facts), wide+1)
	snap, err := compile(t, b, graph.Saver(s)).Thread("t").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stored", snap.State, res.State)
}

func TestAMemoryLastsAsLongAsTheCallThatItIsIn(t *testing.T) {
	inner := newWork()
	graph.MapSubgraph(inner, "deep", compilePair(t, pairs(nil, "d")),
		func(context.Context, work) (pairUpdate, error) { return pairUpdate{}, nil },
		func(_ context.Context, _ work, p pair) (update, error) { return logged(strings.Join(p.Bar, "")), nil }, graph.Stateful())
	inner.Route("deep", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log)%2 == 1 {
			return graph.To("deep"), nil
		}
		return graph.To(graph.End), nil
	}, "deep", graph.End)
	inner.Edge(graph.Start, "deep")
	child := compile(t, inner, graph.SubgraphOnly())
	b := newWork()
	b.Subgraph("one", child)
	b.Subgraph("two", child)
	line(b, "one", "two")
	want := []string{"d", "dd", "d", "dd"}
	same(t, "run", done(t, graph.Done)(compile(t, b).Run(t.Context(), input)).State.Log, want)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, b, d)
		same(t, "log", done(t, graph.Done)(th.Invoke(t.Context(), input)).State.Log, want)
	})
}
