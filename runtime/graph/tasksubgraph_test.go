package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// toRead and fromRead map a send to the input of its call, and the state of the call back.
func toRead(_ context.Context, s work, d doc) (pairUpdate, error) {
	return pairUpdate{Foo: state.Set(fmt.Sprint(d.Name, " of ", len(s.Log)))}, nil
}

func fromRead(_ context.Context, _ work, d doc, child pair) (update, error) {
	return logged(d.Name + ": " + child.Foo + " " + strings.Join(child.Bar, "+")), nil
}

// readers is list -> read for each name in the log -> report.
func readers(child *graph.Graph[pair, pairUpdate], opts ...graph.NodeOption) (*graph.Builder[work, update], graph.Sender[doc]) {
	b := newWork()
	b.Node("list", func(context.Context, work) (update, error) { return update{}, nil })
	read := graph.TaskSubgraph(b, "read", child, toRead, fromRead, opts...)
	b.Node("report", say("report"))
	b.Edge(graph.Start, "list")
	b.Route("list", func(_ context.Context, s work) (graph.Next, error) {
		var next graph.Next
		for i, name := range s.Log {
			next.Add(read.Send(doc{Name: name, Pages: []int{i}}))
		}
		return next, nil
	}, read.ID)
	b.Edge(read.ID, "report")
	b.Edge("report", graph.End)
	return b, read
}

func readersOf(child *graph.Graph[pair, pairUpdate], opts ...graph.NodeOption) *graph.Builder[work, update] {
	b, _ := readers(child, opts...)
	return b
}

const readLog = "x, y, z, x: x of 3 a+b, y: y of 3 a+b, z: z of 3 a+b, report"

var names = logged("x", "y", "z")

// runOnce checks that no task ran twice, except those of a node.
func runOnce(t *testing.T, l *ledger, except string) {
	t.Helper()
	for key, n := range l.copy() {
		if n > 1 && l.names[key] != except {
			t.Errorf("%s ran %d times, want once", l.names[key], n)
		}
	}
}

func TestEachSendRunsASubgraph(t *testing.T) {
	l := new(ledger)
	b := readersOf(compilePair(t, pairs(l, "a", "b")))
	res := done(t, graph.Done)(compile(t, b, graph.Strict()).Run(t.Context(), names))
	same(t, "log", strings.Join(res.State.Log, ", "), readLog)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := newThread(t, b, d, graph.Strict())
		res := done(t, graph.Done)(th.Invoke(t.Context(), names))
		same(t, "log", strings.Join(res.State.Log, ", "), readLog)
		chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status", chain.Thread.Status, checkpoint.Done)
	})
	runOnce(t, l, "")
}

func TestTheTasksOfACallHaveTheKeysOfTheirSend(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]string{}
	inner := graph.New("inner", teststate.PairSchema)
	inner.Node("a", func(ctx context.Context, s pair) (pairUpdate, error) {
		mu.Lock()
		defer mu.Unlock()
		keys[graph.CurrentTask(ctx).Key] = s.Foo
		return pairUpdate{}, nil
	})
	inner.Edge(graph.Start, "a")
	inner.Edge("a", graph.End)
	th, _ := newThread(t, readersOf(compilePair(t, inner)))
	done(t, graph.Done)(th.Invoke(t.Context(), names))
	same(t, "sends by key", slices.Sorted(maps.Values(keys)), []string{"x of 3", "y of 3", "z of 3"})
}

// TestEachSendHasQuestionsOfItsOwn answers one send among several: first the second one.
func TestEachSendHasQuestionsOfItsOwn(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		b := readersOf(compilePair(t, asking(l)))
		th, s := newThread(t, b, d, graph.Concurrency(1))
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), names))
		var got []string
		for _, q := range res.Questions {
			got = append(got, fmt.Sprint(q.Path, " ", q.Node))
		}
		same(t, "questions", got, []string{"[read] ask", "[read[1]] ask", "[read[2]] ask"})
		same(t, "listed", waitingThreads(t, s), res.Questions)
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "seen from outside", snap.Questions, res.Questions)
		for i, call := range snap.Calls {
			in, err := graph.Inside(th, call, compilePair(t, asking(nil))).State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprint("state of call ", i), fmt.Sprint(call.Node, call.Index, " ", in.State.Foo, in.Next),
				fmt.Sprintf("read%d %s of 3[ask]", i, []string{"x", "y", "z"}[i]))
		}
		same(t, "calls", len(snap.Calls), 3)

		answered := res.Questions[1]
		res = done(t, graph.Waiting)(th.Resume(t.Context(), amount.Answer(answered, 5)))
		same(t, "questions left", len(res.Questions), 2)
		if _, err := th.Resume(t.Context(), amount.Answer(answered, 6)); !errors.Is(err, graph.ErrNotAsked) {
			t.Errorf("a second answer to one send: got %v, want ErrNotAsked", err)
		}
		th = compile(t, b, graph.Saver(s), d).Thread("t") // elsewhere
		res = done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 4), amount.Answer(res.Questions[1], 6)))
		same(t, "log", strings.Join(res.State.Log, ", "),
			"x, y, z, x: x of 3: 4 a+b, y: y of 3: 5 a+b, z: z of 3: 6 a+b, report")
		runOnce(t, l, "")
	})
}

func TestStopsHoldEachSendAndNameIt(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		th, _ := newThread(t, readersOf(compilePair(t, pairs(l, "a", "b"), graph.InterruptBefore("b"))), d)
		res := done(t, graph.Paused)(th.Invoke(t.Context(), names))
		same(t, "stops", fmt.Sprint(res.Stops), "[before read/b before read[1]/b before read[2]/b]")
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "stops in a snapshot", len(snap.Stops), 3)
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", strings.Join(res.State.Log, ", "), readLog)
		runOnce(t, l, "")
	})
}

// breaking is a -> bad, where bad fails for one input while it is broken.
func breaking(l *ledger, broken *atomic.Bool, input string) *graph.Builder[pair, pairUpdate] {
	b := pairs(l, "a")
	b.Node("bad", func(ctx context.Context, s pair) (pairUpdate, error) {
		l.note(ctx)
		if broken.Load() && s.Foo == input {
			return pairUpdate{}, errBroken
		}
		return pairUpdate{Bar: state.Append("b")}, nil
	})
	b.Edge("a", "bad")
	b.Edge("bad", graph.End)
	return b
}

func TestAFailedCallOfASendContinuesWhereItFailed(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		var broken atomic.Bool
		broken.Store(true)
		child := compilePair(t, breaking(l, &broken, "y of 3"))
		th, _ := newThread(t, readersOf(child, graph.ContinueOnError()), d, graph.Concurrency(1))
		_, err := th.Invoke(t.Context(), names)
		var e *graph.NodeError
		if !errors.As(err, &e) || e.Node != "read" || e.Index != 1 || !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want the failure of send 1", err)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var finished []bool
		for _, task := range snap.Tasks {
			finished = append(finished, task.Finished)
		}
		same(t, "finished sends", finished, []bool{true, false, true})
		broken.Store(false)
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", strings.Join(res.State.Log, ", "), readLog)
		runOnce(t, l, "bad")
	})
}

func TestAFallbackGetsThePayloadOfAFailedCall(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var broken atomic.Bool
		broken.Store(true)
		b, read := readers(compilePair(t, breaking(new(ledger), &broken, "y of 3")))
		graph.TaskFallback(b, read, func(_ context.Context, _ work, d doc, err error) (update, error) {
			return logged(fmt.Sprint("lost ", d.Name, " ", errors.Is(err, errBroken))), nil
		})
		th, _ := newThread(t, b, d)
		res := done(t, graph.Done)(th.Invoke(t.Context(), names))
		same(t, "log", strings.Join(res.State.Log, ", "), "x, y, z, x: x of 3 a+b, lost y true, z: z of 3 a+b, report")
	})
}

func TestARetryContinuesTheCallOfASend(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		var broken atomic.Bool
		broken.Store(true)
		child := compilePair(t, breaking(l, &broken, "y of 3"))
		retry := graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1, If: func(error) bool { broken.Store(false); return true }})
		th, _ := newThread(t, readersOf(child, retry), d)
		res := done(t, graph.Done)(th.Invoke(t.Context(), names))
		same(t, "log", strings.Join(res.State.Log, ", "), readLog)
		runOnce(t, l, "bad")
	})
}

// TestSendsIntoSubgraphsThatSend is a send into a graph that itself sends into graphs that ask.
func TestSendsIntoSubgraphsThatSend(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		middle := graph.New("middle", teststate.PairSchema)
		part := graph.TaskSubgraph(middle, "part", compilePair(t, asking(l)),
			func(_ context.Context, s pair, d doc) (pairUpdate, error) {
				return pairUpdate{Foo: state.Set(s.Foo + d.Name)}, nil
			},
			func(_ context.Context, _ pair, _ doc, c pair) (pairUpdate, error) {
				return pairUpdate{Bar: state.Append(c.Foo)}, nil
			})
		middle.Route(graph.Start, func(context.Context, pair) (graph.Next, error) {
			next := part.Send(doc{Name: "/0"})
			next.Add(part.Send(doc{Name: "/1"}))
			return next, nil
		}, part.ID)
		middle.Edge(part.ID, graph.End)
		b := readersOf(compilePair(t, middle))
		th, s := newThread(t, b, d)
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("x", "y")))
		var answers []graph.ResumeOption
		var paths []string
		for i, q := range res.Questions {
			paths = append(paths, fmt.Sprint(q.Path))
			answers = append(answers, amount.Answer(q, wire.Int(i)))
		}
		same(t, "paths", paths, []string{"[read part]", "[read part[1]]", "[read[1] part]", "[read[1] part[1]]"})
		th = compile(t, b, graph.Saver(s), d).Thread("t") // elsewhere
		res = done(t, graph.Done)(th.Resume(t.Context(), answers...))
		same(t, "log", strings.Join(res.State.Log, ", "),
			"x, y, x: x of 2 x of 2/0: 0+x of 2/1: 1, y: y of 2 y of 2/0: 2+y of 2/1: 3, report")
		runOnce(t, l, "")
	})
}

func TestAStreamShowsTheSendOfAnEvent(t *testing.T) {
	b := readersOf(compilePair(t, pairs(nil, "a")))
	th, _ := newThread(t, b, graph.Concurrency(1))
	var got []string
	for e, err := range th.Stream(t.Context(), names, graph.Events(graph.EventUpdate)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Path != nil {
			got = append(got, fmt.Sprint(e.Path, e.Node))
		}
	}
	same(t, "updates in calls", got, []string{"[read]a", "[read[1]]a", "[read[2]]a"})
}

func TestAnEditOfOneCallAmongSends(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		child := compilePair(t, pairs(nil, "a", "b"), graph.InterruptBefore("b"))
		th, _ := newThread(t, readersOf(child), d)
		done(t, graph.Paused)(th.Invoke(t.Context(), names))
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := graph.Inside(th, snap.Calls[1], child).UpdateState(t.Context(), pairUpdate{Foo: state.Set("edited")}); err != nil {
			t.Fatal(err)
		}
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", strings.Join(res.State.Log, ", "), "x, y, z, x: x of 3 a+b, y: edited a+b, z: z of 3 a+b, report")
	})
}

// TestAReplayBeginsTheCallsOfSendsAgain and Rerun does; tasks have other keys then.
func TestAReplayBeginsTheCallsOfSendsAgain(t *testing.T) {
	l := new(ledger)
	child := compilePair(t, pairs(l, "a", "b"), graph.InterruptBefore("b"))
	th, _ := newThread(t, readersOf(child))
	done(t, graph.Paused)(th.Invoke(t.Context(), names))
	same(t, "tasks before", len(l.copy()), 3)
	done(t, graph.Paused)(th.Resume(t.Context(), graph.Rerun("read")))
	same(t, "tasks after Rerun", len(l.copy()), 6)
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", strings.Join(res.State.Log, ", "), readLog)
	same(t, "tasks at the end", len(l.copy()), 9)

	var due checkpoint.ID
	for _, snap := range collect(t, th.History(t.Context(), checkpoint.Query{})) {
		if slices.Contains(snap.Next, "read") {
			due = snap.Checkpoint
			same(t, "calls in the history", len(snap.Calls), 3)
		}
	}
	done(t, graph.Paused)(th.At(due).Resume(t.Context()))
	same(t, "tasks after a replay", len(l.copy()), 12)
}

// TestTheFirstCallOfARaceWins withdraws what the calls of the other sends ask.
func TestTheFirstCallOfARaceWins(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		inner := graph.New("inner", teststate.PairSchema)
		inner.Node("a", func(ctx context.Context, s pair) (pairUpdate, error) {
			if s.Foo != "z of 3" {
				_, err := amount.Ask(ctx, "how much?")
				return pairUpdate{}, err
			}
			return pairUpdate{Bar: state.Append("won")}, nil
		}, amount)
		inner.Edge(graph.Start, "a")
		inner.Edge("a", graph.End)
		b, read := readers(compilePair(t, inner))
		b.Node("first", say("first"))
		b.JoinAny([]graph.ID{read.ID}, "first")
		b.Edge("first", graph.End)
		th, s := newThread(t, b, d, graph.Concurrency(1))
		res := done(t, graph.Done)(th.Invoke(t.Context(), names))
		same(t, "log", strings.Join(res.State.Log, ", "), "x, y, z, z: z of 3 won, report, first")
		same(t, "questions left", len(waitingThreads(t, s)), 0)
	})
}

// TestACallOfASendRemembersNothing: Compile reports Stateful for TaskSubgraph.
func TestACallOfASendRemembersNothing(t *testing.T) {
	same(t, "faults", faults(t, readersOf(compilePair(t, pairs(nil, "a", "b")), graph.Stateful())), []string{
		`node "read" has the option Stateful, which is for MapSubgraph; leave it out`,
	})
	th, _ := newThread(t, readersOf(compilePair(t, pairs(nil, "a", "b"))))
	done(t, graph.Done)(th.Invoke(t.Context(), names))
	res := done(t, graph.Done)(th.Invoke(t.Context(), update{}))
	same(t, "the last call", res.State.Log[len(res.State.Log)-2], "report: report of 7 a+b")
}

func TestACallOfASendChoosesForItsParent(t *testing.T) {
	inner := pairs(nil, "a")
	inner.Route("a", func(_ context.Context, s pair) (graph.Next, error) {
		if strings.HasPrefix(s.Foo, "y") {
			return graph.ToParent(graph.To("check")), nil
		}
		return graph.ToParent(graph.To(graph.End)), nil
	}, graph.Parent)
	b := readersOf(compilePair(t, inner), graph.Targets("check", graph.End))
	b.Node("check", say("check"))
	b.Edge("check", graph.End)
	th, _ := newThread(t, b)
	res := done(t, graph.Done)(th.Invoke(t.Context(), names))
	same(t, "log", strings.Join(res.State.Log[6:], ", "), "report, check")
}

func TestEveryCrashPointWithSendsIntoSubgraphs(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		travel := func(s checkpoint.Saver, l *ledger) (result, error) {
			b := readersOf(compilePair(t, asking(l), graph.InterruptBefore("b")))
			th := compile(t, b, graph.Saver(s), d, graph.Concurrency(1), graph.Strict()).Thread("t")
			res, err := th.Resume(t.Context(), graph.TakeOver())
			if errors.Is(err, checkpoint.ErrNotFound) {
				res, err = th.Invoke(t.Context(), logged("x", "y"), graph.TakeOver())
			}
			for err == nil && res.Status != graph.Done {
				opts := []graph.ResumeOption{graph.TakeOver()}
				for _, w := range res.Questions {
					opts = append(opts, amount.Answer(w, 3))
				}
				res, err = th.Resume(t.Context(), opts...)
			}
			return res, err
		}
		everyCrashPoint(t, travel, func(what string, res result) {
			same(t, what, strings.Join(res.State.Log, ", "), "x, y, x: x of 2: 3 a+b, y: y of 2: 3 a+b, report")
		})
	})
}
