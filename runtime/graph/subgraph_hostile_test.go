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
	return compile(t, line(b, "a", "b", "c", "d", "e"), graph.Nested())
}

func TestEachAttemptOfASubgraphGoesOnWhereTheLastOneFailed(t *testing.T) {
	for name, d := range durabilities {
		for attempts := 1; attempts <= 3; attempts++ {
			what := fmt.Sprint(name, ", attempts ", attempts)
			y := new(tally)
			th, _ := newThread(t, only(twoFaults(t, y), graph.Retry(graph.Backoff{Attempts: attempts, Base: 1})), d)
			res, err := th.Invoke(t.Context(), input)
			for range 3 - attempts {
				if !errors.Is(err, errBroken) {
					t.Fatalf("%s: got %v, want the failure of a node", what, err)
				}
				if res, err = th.Resume(t.Context()); attempts == 2 {
					break
				}
			}
			wantLog(t, what, done(t, graph.Finished)(res, err).State, "a, b, c, d, e")
			y.once(t, what, "a", "b", "c", "d", "e")
		}
	}
}

func TestAStepOfASubgraphThatChangesNothing(t *testing.T) {
	for name, d := range durabilities {
		y := new(tally)
		empty := newWork()
		empty.Node("never", say("never"))
		empty.Route(graph.Start, choose(graph.End), "never", graph.End)
		empty.Edge("never", graph.End)
		inner := newWork()
		inner.Node("a", counted(y, "a"))
		inner.Subgraph("empty", compile(t, empty, graph.Nested()))
		inner.Node("b", counted(y, "b"))
		inner.Subgraph("blank", compile(t, empty, graph.Nested()))
		inner.Node("c", counted(y, "c"))
		line(inner, "a", "empty", "b", "blank", "c")
		th, s := newThread(t, only(compile(t, inner, graph.Nested(), graph.InterruptBefore("b", "c"))), d)
		done(t, graph.Paused)(th.Invoke(t.Context(), input))
		th = compile(t, only(compile(t, inner, graph.Nested(), graph.InterruptBefore("b", "c"))), graph.Saver(s), d).Thread("t")
		done(t, graph.Paused)(th.Resume(t.Context()))
		wantLog(t, name, done(t, graph.Finished)(th.Resume(t.Context())).State, "a, b, c")
		y.once(t, name, "a", "b", "c")
	}
}

// faulty fails two Appends to the namespaces of subgraphs that come after so many others. They are made, or not.
type faulty struct {
	checkpoint.Saver
	left  atomic.Int32
	after bool
}

var errFaulty = errors.New("the server is away")

func (f *faulty) Append(ctx context.Context, a checkpoint.Append) (checkpoint.Appended, error) {
	if a.Namespace == "" {
		return f.Saver.Append(ctx, a)
	}
	if left := f.left.Add(-1); left != -1 && left != -2 {
		return f.Saver.Append(ctx, a)
	}
	if f.after {
		if _, err := f.Saver.Append(ctx, a); err != nil {
			return checkpoint.Appended{}, err
		}
	}
	return checkpoint.Appended{}, errFaulty
}

// TestAnAppendOfASubgraphThatFails has one call of the saver fail that a subgraph makes. What it stores later is what
// counts, not what it would have stored.
func TestAnAppendOfASubgraphThatFails(t *testing.T) {
	for name, d := range durabilities {
		for left := range int32(6) {
			for _, after := range []bool{false, true} {
				for attempts := 1; attempts <= 2; attempts++ {
					what := fmt.Sprintf("%s, append %d, made %t, attempts %d", name, left, after, attempts)
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
					b := only(compile(t, inner, graph.Nested()), graph.Retry(graph.Backoff{Attempts: attempts, Base: 1}))
					th := compile(t, b, graph.Saver(s)).Thread("t")
					res, err := th.Invoke(t.Context(), input, d)
					for range 6 {
						switch {
						case err != nil && !errors.Is(err, errFaulty):
							t.Fatalf("%s: got %v", what, err)
						case err == nil && res.Status == graph.Finished:
						case err == nil && len(res.Waiting) > 0:
							res, err = th.Resume(t.Context(), amount.Answer(res.Waiting[0], 5), graph.Sync)
							continue
						default:
							res, err = th.Resume(t.Context(), graph.Sync)
							continue
						}
						break
					}
					log := done(t, graph.Finished)(res, err).State.Log
					if len(log) != 4 || log[2] != fmt.Sprint(5, " for ", log[:2]) {
						t.Errorf("%s: got log %q, want what ask saw, its answer, and c", what, log)
					}
				}
			}
		}
	}
}

func TestWhatASubgraphDidIsKeptWhenOutFails(t *testing.T) {
	for name, d := range durabilities {
		for attempts := 1; attempts <= 2; attempts++ {
			what := fmt.Sprint(name, ", attempts ", attempts)
			l := new(ledger)
			broken := true
			b := newWork()
			graph.Subgraph(b, "sub", compilePair(t, pairs(l, "a", "b")), toPair,
				func(ctx context.Context, s work, p pair) (update, error) {
					if broken {
						broken = false
						return update{}, errBroken
					}
					return fromPair(ctx, s, p)
				}, graph.Retry(graph.Backoff{Attempts: attempts, Base: 1}))
			th, _ := newThread(t, line(b, "sub"), d)
			res, err := th.Invoke(t.Context(), input)
			if attempts == 1 {
				if !errors.Is(err, errBroken) {
					t.Fatalf("%s: got %v, want errBroken", what, err)
				}
				res, err = th.Resume(t.Context())
			}
			same(t, what, done(t, graph.Finished)(res, err).State.Log, []string{"given 0 0 a+b"})
			ranOnce(t, what, l)
		}
	}
}

// TestARunThatDiedIsResumedWithAnotherDurability has runs die that store nothing until they end, and others go on.
func TestARunThatDiedIsResumedWithAnotherDurability(t *testing.T) {
	for name, d := range durabilities {
		for name2, d2 := range durabilities {
			for left := range 100 {
				what := fmt.Sprintf("%s, then %s, crash at call %d", name, name2, left)
				s := memory.New()
				travel := func(s checkpoint.Saver, d graph.Durability) (res result, err error) {
					th := compile(t, mixed(t, nil), graph.Saver(s), d).Thread("t")
					for range 30 {
						if err != nil || res.Status == graph.Finished {
							break
						}
						var opts []graph.ResumeOption
						for _, w := range res.Waiting {
							opts = append(opts, amount.Answer(w, 3))
						}
						res, err = th.Resume(t.Context(), append(opts, graph.TakeOver())...)
						if errors.Is(err, checkpoint.ErrNotFound) {
							res, err = th.Invoke(t.Context(), input, graph.TakeOver())
						}
					}
					return res, err
				}
				_, err := travel(&crashing{Saver: s, left: 1 + left/2, after: left%2 == 1}, d)
				if err == nil {
					break
				}
				if !errors.Is(err, errCrash) {
					t.Fatalf("%s: got %v", what, err)
				}
				res, err := travel(s, d2)
				if err != nil {
					t.Fatalf("%s: after the crash: %v", what, err)
				}
				same(t, what, strings.Join(res.State.Log, ", "), mixedLog)
			}
		}
	}
}

const mixedLog = "begin, given 1: 3 1 a+b, x, y, in, begin, given 6: 3 6 a+b, x, y, in in, end"

// mixed is a loop with subgraphs of each kind: one over a state of its own, one over the same state that asks and sends its
// parent on, and one that remembers.
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
	graph.Subgraph(b, "own", compilePair(t, asking(nil), graph.InterruptBefore("b")), toPair, fromPair)
	b.Subgraph("same", compile(t, up, graph.Nested(), graph.InterruptBefore("y")), graph.Targets("memory"))
	graph.Subgraph(b, "memory", compilePair(t, pairs(nil, "in")),
		func(context.Context, work) (pairUpdate, error) { return pairUpdate{Foo: state.Set("")}, nil },
		func(_ context.Context, _ work, p pair) (update, error) {
			return logged(strings.Join(p.Bar, " ")), nil
		}, graph.Remember())
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
			child := compile(t, up, graph.Nested())
			for range depth {
				m := newWork()
				m.Subgraph("deep", child, graph.Targets(graph.Parent))
				m.Edge(graph.Start, "deep")
				child = compile(t, m, graph.Nested())
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
			th := compile(t, build("human", graph.Was("person")), graph.Saver(s)).Thread("t")
			res, err := th.Resume(t.Context(), graph.TakeOver())
			if errors.Is(err, checkpoint.ErrNotFound) {
				continue
			}
			same(t, what, done(t, graph.Finished)(res, err).State.Log, []string{"a", "has it"})
		}
	}
}

func TestASubgraphThatOwesARouteEndsBeforeItsParentGoesOn(t *testing.T) {
	inner := newWork()
	inner.Node("a", say("a"))
	inner.Node("b", say("b"))
	inner.Route("a", func(context.Context, work) (graph.Next, error) { return graph.ToParent(graph.To(graph.End)), nil }, graph.Parent)
	inner.Edge(graph.Start, "a")
	inner.Edge("a", "b")
	inner.Edge("b", graph.End)
	b := newWork()
	b.Subgraph("sub", compile(t, inner, graph.Nested(), graph.InterruptAfter("a"), graph.BeforeRoute()), graph.Targets(graph.End))
	b.Edge(graph.Start, "sub")
	th, _ := newThread(t, b)
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.Resume(t.Context()); err == nil || !strings.Contains(err.Error(), "it sends its Parent on, while [b] is due in it") {
		t.Errorf("got %v, want an error that names b", err)
	}
}

func TestASubgraphThatRemembersInOneThatDoes(t *testing.T) {
	middle := graph.New("middle", teststate.PairSchema)
	graph.Subgraph(middle, "deep", compilePair(t, pairs(nil, "d")),
		func(context.Context, pair) (pairUpdate, error) { return pairUpdate{}, nil },
		func(_ context.Context, _, c pair) (pairUpdate, error) {
			return pairUpdate{Foo: state.Set(strings.Join(c.Bar, ""))}, nil
		}, graph.Remember())
	middle.Edge(graph.Start, "deep")
	middle.Edge("deep", graph.End)
	b := newWork()
	graph.Subgraph(b, "sub", compilePair(t, middle),
		func(context.Context, work) (pairUpdate, error) { return pairUpdate{}, nil },
		func(_ context.Context, _ work, p pair) (update, error) { return logged(p.Foo), nil }, graph.Remember())
	b.Route("sub", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log) < 3 {
			return graph.To("sub"), nil
		}
		return graph.To(graph.End), nil
	}, "sub", graph.End)
	b.Edge(graph.Start, "sub")
	want := []string{"d", "dd", "ddd"}
	same(t, "run", done(t, graph.Finished)(compile(t, b).Run(t.Context(), input)).State.Log, want)
	for name, d := range durabilities {
		th, _ := newThread(t, b, d)
		same(t, name, done(t, graph.Finished)(th.Invoke(t.Context(), input)).State.Log, want)
	}
}

func TestRerunBeginsASubgraphAnewWhenItsInputFailsAtFirst(t *testing.T) {
	for name, d := range durabilities {
		calls, broken := 0, true
		b := newWork()
		graph.Subgraph(b, "sub", compilePair(t, pairs(nil, "a")),
			func(context.Context, work) (pairUpdate, error) {
				if calls++; calls == 2 {
					return pairUpdate{}, errBroken
				}
				return pairUpdate{Foo: state.Set(fmt.Sprint("call ", calls))}, nil
			},
			func(_ context.Context, _ work, p pair) (update, error) { return logged(p.Foo), nil },
			graph.Retry(graph.Backoff{Attempts: 2, Base: 1}))
		b.Route("sub", func(context.Context, work) (graph.Next, error) {
			if broken {
				return graph.Next{}, errBroken
			}
			return graph.To(graph.End), nil
		}, graph.End)
		b.Edge(graph.Start, "sub")
		th, _ := newThread(t, b, d)
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("%s: got %v, want errBroken", name, err)
		}
		broken = false
		res := done(t, graph.Finished)(th.Resume(t.Context(), graph.Rerun("sub")))
		same(t, name, res.State.Log, []string{"call 3"})
	}
}

// TestARunThatLostItsThreadDoesNotRetryASubgraph: once another run has the thread, a subgraph is not tried again.
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
			if _, err := th.UpdateState(t.Context(), logged("thief"), "", graph.TakeOver()); err != nil {
				t.Error(err)
			}
		}
		b := newWork()
		retry := graph.Retry(graph.Backoff{Attempts: 5, Base: 1})
		if kind == "own" {
			inner := graph.New("inner", teststate.PairSchema)
			inner.Node("a", func(context.Context, pair) (pairUpdate, error) { steal(); return pairUpdate{}, nil })
			inner.Edge(graph.Start, "a")
			inner.Edge("a", graph.End)
			graph.Subgraph(b, "sub", compilePair(t, inner), toPair, fromPair, retry)
		} else {
			inner := newWork()
			inner.Node("a", func(context.Context, work) (update, error) { steal(); return update{}, nil })
			b.Subgraph("sub", compile(t, line(inner, "a"), graph.Nested()), retry)
		}
		_, err := compile(t, line(b, "sub"), graph.Saver(s)).Thread("t").Invoke(t.Context(), input)
		if !errors.Is(err, checkpoint.ErrConflict) {
			t.Fatalf("%s: got %v, want ErrConflict", kind, err)
		}
		same(t, kind+": runs of the node", y.copy()["node"], 1)
	}
}

// TestWhatASubgraphThatBeganAnewAskedBefore: the questions of what a subgraph began before it began anew are not the
// thread's any more, at any depth.
func TestWhatASubgraphThatBeganAnewAskedBefore(t *testing.T) {
	for name, d := range durabilities {
		for depth := range 3 {
			what := fmt.Sprint(name, ", depth ", depth)
			child := compilePair(t, asking(nil))
			for range depth {
				child = nest(t, child)
			}
			th, s := newThread(t, around(t, nil, child), d)
			old := done(t, graph.Asked)(th.Invoke(t.Context(), input)).Waiting
			res := done(t, graph.Asked)(th.Resume(t.Context(), graph.Rerun("sub")))
			if len(res.Waiting) != 1 || res.Waiting[0].ID == old[0].ID {
				t.Fatalf("%s: asked %v, then %v; want one of its own each", what, old, res.Waiting)
			}
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, what+": waiting", snap.Waiting, res.Waiting)
			same(t, what+": listed", waitingThreads(t, s), res.Waiting)
			if _, err := th.Resume(t.Context(), amount.Answer(old[0], 1)); !errors.Is(err, graph.ErrNotAsked) {
				t.Errorf("%s: the answer to the old question: got %v, want ErrNotAsked", what, err)
			}
			done(t, graph.Finished)(th.Resume(t.Context(), amount.Answer(res.Waiting[0], 1)))
			same(t, what+": listed in the end", len(waitingThreads(t, s)), 0)
		}
	}
}

func TestWhatASubgraphAskedThatLostARace(t *testing.T) {
	for name, d := range durabilities {
		for depth := range 3 {
			what := fmt.Sprint(name, ", depth ", depth)
			inner := newWork()
			inner.Node("a", say("a"))
			inner.Node("ask", func(ctx context.Context, _ work) (update, error) {
				n, err := amount.Ask(ctx, "how much?")
				return logged(fmt.Sprint(n)), err
			}, amount)
			child := compile(t, line(inner, "a", "ask"), graph.Nested())
			for range depth {
				child = compile(t, only(child), graph.Nested())
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
			res := done(t, graph.Asked)(th.Resume(t.Context()))
			same(t, what+": nodes that ask", len(res.Waiting), 1)
			same(t, what+": listed", waitingThreads(t, s), res.Waiting)
			res = done(t, graph.Finished)(th.Resume(t.Context(), refund.Answer(res.Waiting[0], true)))
			same(t, what, res.State.Log, []string{"fast", "sure true"})
		}
	}
}
