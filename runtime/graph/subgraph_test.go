package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type (
	pair       = teststate.Pair
	pairUpdate = teststate.PairUpdate
)

// toPair and fromPair map the state of a test to that of its subgraph and back.
func toPair(_ context.Context, s work) (pairUpdate, error) {
	return pairUpdate{Foo: state.Set(fmt.Sprint("given ", len(s.Log)))}, nil
}

func fromPair(_ context.Context, s work, child pair) (update, error) {
	return logged(fmt.Sprint(child.Foo, " ", len(s.Log), " ", strings.Join(child.Bar, "+"))), nil
}

func pairNode(l *ledger, name string) func(context.Context, pair) (pairUpdate, error) {
	return func(ctx context.Context, _ pair) (pairUpdate, error) {
		if l != nil {
			l.note(ctx)
		}
		return pairUpdate{Bar: state.Append(name)}, nil
	}
}

func compilePair(t *testing.T, b *graph.Builder[pair, pairUpdate], opts ...graph.Option) *graph.Graph[pair, pairUpdate] {
	t.Helper()
	g, err := b.Compile(append(opts, graph.SubgraphOnly())...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// pairs is a chain of nodes over pair.
func pairs(l *ledger, names ...graph.ID) *graph.Builder[pair, pairUpdate] {
	b := graph.New("inner", teststate.PairSchema)
	from := graph.Start
	for _, id := range names {
		b.Node(id, pairNode(l, string(id)))
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	return b
}

// around is before -> sub -> after, with another node alongside sub.
func around(t *testing.T, l *ledger, child *graph.Graph[pair, pairUpdate], opts ...graph.NodeOption) *graph.Builder[work, update] {
	t.Helper()
	b := newWork()
	for _, id := range []graph.ID{"before", "sibling", "after"} {
		b.Node(id, func(ctx context.Context, _ work) (update, error) {
			if l != nil {
				l.note(ctx)
			}
			return logged(string(id)), nil
		})
	}
	graph.MapSubgraph(b, "sub", child, toPair, fromPair, opts...)
	b.Edge(graph.Start, "before")
	b.Edge("before", "sibling")
	b.Edge("before", "sub")
	b.Join([]graph.ID{"sibling", "sub"}, "after")
	b.Edge("after", graph.End)
	return b
}

const aroundLog = "before, sibling, given 1 1 a+b, after"

func TestASubgraphIsANode(t *testing.T) {
	b := around(t, nil, compilePair(t, pairs(nil, "a", "b")))
	res := done(t, graph.Done)(compile(t, b, graph.Strict()).Run(t.Context(), input))
	same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
	same(t, "steps", res.Steps, 3)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := newThread(t, b, d, graph.Strict())
		res := done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
		res = done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "log of a second input", strings.Join(res.State.Log, ", "), aroundLog+", before, sibling, given 5 5 a+b, after")
		chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status", chain.Thread.Status, checkpoint.Done)
	})
}

func TestAFailureInASubgraphIsOneOfItsNode(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		var broken atomic.Bool
		broken.Store(true)
		inner := pairs(l, "a")
		inner.Node("bad", func(ctx context.Context, _ pair) (pairUpdate, error) {
			l.note(ctx)
			if broken.Load() {
				return pairUpdate{}, errBroken
			}
			return pairUpdate{Bar: state.Append("b")}, nil
		})
		inner.Edge("a", "bad")
		inner.Edge("bad", graph.End)
		child := compilePair(t, inner)
		th, _ := newThread(t, around(t, l, child), d, graph.Concurrency(1))
		_, err := th.Invoke(t.Context(), input)
		var e *graph.NodeError
		if !errors.As(err, &e) || e.Node != "sub" || !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `node "bad": it broke`) {
			t.Fatalf("got %v, want the failure of bad in sub", err)
		}
		broken.Store(false)
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
		for key, n := range l.copy() {
			if n > 2 || n == 2 && l.names[key] != "bad" {
				t.Errorf("%s ran %d times", l.names[key], n)
			}
		}
	})
}

func TestARetryContinuesTheSubgraph(t *testing.T) {
	l := new(ledger)
	runs := 0
	inner := pairs(l, "a")
	inner.Node("bad", func(context.Context, pair) (pairUpdate, error) {
		if runs++; runs < 3 {
			return pairUpdate{}, errBroken
		}
		return pairUpdate{Bar: state.Append("b")}, nil
	})
	inner.Edge("a", "bad")
	inner.Edge("bad", graph.End)
	b := around(t, l, compilePair(t, inner), graph.Retry(graph.RetryPolicy{Attempts: 3, Base: 1}))
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		runs = 0
		th, _ := newThread(t, b, d)
		res := done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
		same(t, "runs of bad", runs, 3)
	})
	for key, n := range l.copy() {
		if n > 1 {
			t.Errorf("%s ran %d times", l.names[key], n)
		}
	}
}

func TestAStopInASubgraphStopsTheRun(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		child := compilePair(t, pairs(l, "a", "b"), graph.InterruptBefore("a", "b"))
		th, s := newThread(t, around(t, l, child), d)
		res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
		same(t, "due", res.Next, []graph.ID{"sibling", "sub"})
		done(t, graph.Paused)(th.Resume(t.Context()))
		th = compile(t, around(t, l, child), graph.Saver(s), d).Thread("t") // elsewhere
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
		for key, n := range l.copy() {
			if n > 1 {
				t.Errorf("%s ran %d times", l.names[key], n)
			}
		}
	})
}

// asking is a graph over pair that asks how much, between a and b.
func asking(l *ledger) *graph.Builder[pair, pairUpdate] {
	b := graph.New("inner", teststate.PairSchema)
	b.Node("a", pairNode(l, "a"))
	b.Node("ask", func(ctx context.Context, s pair) (pairUpdate, error) {
		n, err := amount.Ask(ctx, "how much?")
		return pairUpdate{Foo: state.Set(fmt.Sprint(s.Foo, ": ", n))}, err
	}, amount)
	b.Node("b", pairNode(l, "b"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "ask")
	b.Edge("ask", "b")
	b.Edge("b", graph.End)
	return b
}

// nest puts a graph over pair into another one, as its only node.
func nest(t *testing.T, child *graph.Graph[pair, pairUpdate]) *graph.Graph[pair, pairUpdate] {
	t.Helper()
	b := graph.New("middle", teststate.PairSchema)
	graph.MapSubgraph(b, "deep", child,
		func(_ context.Context, s pair) (pairUpdate, error) { return pairUpdate{Foo: state.Set(s.Foo)}, nil },
		func(_ context.Context, _, c pair) (pairUpdate, error) {
			return pairUpdate{Foo: state.Set(c.Foo), Bar: state.Append(c.Bar...)}, nil
		})
	b.Edge(graph.Start, "deep")
	b.Edge("deep", graph.End)
	return compilePair(t, b)
}

func TestAQuestionInASubgraphAtAnyDepth(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for depth, path := range [][]graph.PathElement{
			{{Node: "sub"}}, {{Node: "sub"}, {Node: "deep"}}, {{Node: "sub"}, {Node: "deep"}, {Node: "deep"}},
		} {
			what := fmt.Sprint("depth ", depth)
			l := new(ledger)
			child := compilePair(t, asking(l))
			for range depth {
				child = nest(t, child)
			}
			th, s := newThread(t, around(t, l, child), d)
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
			if len(res.Questions) != 1 {
				t.Fatalf("%s: got %d questions, want 1", what, len(res.Questions))
			}
			w := res.Questions[0]
			same(t, what+": path", w.Path, path)
			same(t, what+": node", w.Node, graph.ID("ask"))
			same(t, what+": listed", waitingThreads(t, s), res.Questions)
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, what+": seen from outside", snap.Questions, res.Questions)
			res = done(t, graph.Waiting)(th.Resume(t.Context()))
			same(t, what+": asked again", res.Questions, []graph.OpenQuestion{w})

			_, err = th.Resume(t.Context(), refund.Answer(w, true))
			if !errors.Is(err, graph.ErrNotAsked) {
				t.Errorf("%s: the answer to another question: got %v, want ErrNotAsked", what, err)
			}
			th = compile(t, around(t, l, child), graph.Saver(s), d).Thread("t") // elsewhere
			res = done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(w, 7)))
			same(t, what+": log", strings.Join(res.State.Log, ", "), "before, sibling, given 1: 7 1 a+b, after")
			for key, n := range l.copy() {
				if n > 1 {
					t.Errorf("%s: %s ran %d times", what, l.names[key], n)
				}
			}
		}
	})
}

// deepJourney is a graph with a subgraph that has branches, a join, a stop and a question.
func deepJourney(t *testing.T, l *ledger) *graph.Builder[work, update] {
	t.Helper()
	inner := asking(l)
	inner.Node("left", pairNode(l, "left"))
	inner.Node("joined", pairNode(l, "joined"))
	inner.Edge(graph.Start, "left")
	inner.Join([]graph.ID{"left", "b"}, "joined")
	inner.Edge("joined", graph.End)
	return around(t, l, nest(t, compilePair(t, inner, graph.InterruptBefore("joined"))))
}

// deepTravel resumes until the thread is finished, and answers its questions.
func deepTravel(t *testing.T, s checkpoint.Saver, l *ledger, d graph.Durability) (result, error) {
	t.Helper()
	th := compile(t, deepJourney(t, l), graph.Saver(s), d, graph.Concurrency(1), graph.Strict()).Thread("t")
	res, err := th.Resume(t.Context(), graph.TakeOver())
	if errors.Is(err, checkpoint.ErrNotFound) {
		res, err = th.Invoke(t.Context(), input, graph.TakeOver())
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

func TestEveryCrashPointWithSubgraphs(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		everyCrashPoint(t, func(s checkpoint.Saver, l *ledger) (result, error) { return deepTravel(t, s, l, d) },
			func(what string, res result) {
				same(t, what, strings.Join(res.State.Log, ", "), "before, sibling, given 1: 3 1 a+left+b+joined, after")
			})
	})
}

func TestASubgraphThatIsDoneIsNotRunAgain(t *testing.T) {
	l := new(ledger)
	var broken atomic.Bool
	broken.Store(true)
	b := around(t, l, compilePair(t, pairs(l, "a", "b")))
	b.Route("sub", func(context.Context, work) (graph.Next, error) {
		if broken.Load() {
			return graph.Next{}, errBroken
		}
		return graph.To(graph.End), nil
	}, graph.End)
	th, _ := newThread(t, b)
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want errBroken", err)
	}
	broken.Store(false)
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
	for key, n := range l.copy() {
		if n > 1 {
			t.Errorf("%s ran %d times", l.names[key], n)
		}
	}
}

func TestCancelReachesASubgraph(t *testing.T) {
	l := new(ledger)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	inner := pairs(l, "a")
	inner.Node("b", func(ctx context.Context, _ pair) (pairUpdate, error) {
		cancel()
		if err := ctx.Err(); err != nil {
			return pairUpdate{}, err
		}
		return pairUpdate{Bar: state.Append("b")}, nil
	})
	inner.Edge("a", "b")
	inner.Edge("b", graph.End)
	th, _ := newThread(t, around(t, l, compilePair(t, inner)))
	res, err := th.Invoke(ctx, input)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	same(t, "status", res.Status, graph.Ready)
	cancel = func() {}
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
	for key, n := range l.copy() {
		if n > 1 {
			t.Errorf("%s ran %d times", l.names[key], n)
		}
	}
}

func TestDrainReachesASubgraph(t *testing.T) {
	var app *app
	drained := make(chan error, 1)
	inner := pairs(nil, "a", "b")
	s := memory.New()
	stop := graph.New("inner", teststate.PairSchema)
	stop.Node("a", func(context.Context, pair) (pairUpdate, error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		drained <- app.Drain(ctx) // it marks the graph, and does not wait
		return pairUpdate{Bar: state.Append("a")}, nil
	})
	stop.Node("b", pairNode(nil, "b"))
	stop.Edge(graph.Start, "a")
	stop.Edge("a", "b")
	stop.Edge("b", graph.End)
	app = compile(t, around(t, nil, compilePair(t, stop)), graph.Saver(s))
	done(t, graph.Ready)(app.Thread("t").Invoke(t.Context(), input))
	if err := <-drained; !errors.Is(err, context.Canceled) {
		t.Errorf("drain: got %v, want context.Canceled", err)
	}
	res := done(t, graph.Done)(compile(t, around(t, nil, compilePair(t, inner)), graph.Saver(s)).Thread("t").Resume(t.Context()))
	same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
}

func TestAStreamShowsWhatHappensInSubgraphs(t *testing.T) {
	inner := graph.New("inner", teststate.PairSchema)
	inner.Node("a", func(ctx context.Context, _ pair) (pairUpdate, error) {
		graph.Emit(ctx, "token")
		return pairUpdate{Bar: state.Append("a")}, nil
	})
	inner.Edge(graph.Start, "a")
	inner.Edge("a", graph.End)
	th, _ := newThread(t, around(t, nil, nest(t, compilePair(t, inner))))
	var got []string
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventUpdate|graph.EventCustom)) {
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Path) == 0 || e.Node == "" {
			continue
		}
		line := fmt.Sprint(e.Path, e.Node, " ", e.Custom)
		if child, ok := e.Child.(graph.Event[pair, pairUpdate]); ok && e.Kind == graph.EventUpdate {
			line = fmt.Sprint(e.Path, e.Node, " ", child.Update)
		}
		got = append(got, line)
	}
	same(t, "events", got, []string{
		"[sub deep]a token",
		"[sub deep]a PairUpdate{Bar: append [a]}",
		"[sub]deep PairUpdate{Foo: set given 1, Bar: append [a]}",
	})
}

func TestLeavingAStreamStopsSubgraphs(t *testing.T) {
	l := new(ledger)
	th, _ := newThread(t, around(t, l, compilePair(t, pairs(l, "a", "b"))), graph.Concurrency(1))
	for e, err := range th.Stream(t.Context(), input) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Node == "a" {
			break
		}
	}
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", strings.Join(res.State.Log, ", "), aroundLog)
	for key, n := range l.copy() {
		if n > 1 && l.names[key] != "b" { // b may have begun when the loop was left
			t.Errorf("%s ran %d times", l.names[key], n)
		}
	}
}

func TestSubgraphsInCompile(t *testing.T) {
	b := newWork()
	graph.MapSubgraph[work, update, pair, pairUpdate](b, "sub", nil, toPair, fromPair)
	b.Edge(graph.Start, "sub")
	b.Edge("sub", graph.End)
	same(t, "faults", faults(t, b), []string{`node "sub" has no function; pass one`})
}
