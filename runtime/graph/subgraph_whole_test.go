package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// language has every element of a graph: sends that send, a routing node, a join over branches of
// different length, and an any-of join. It also has a deferred node and a loop, and several tasks
// ask a question.
func language(l *ledger) *graph.Builder[work, update] {
	b := newWork()
	asking := func(ctx context.Context, s work, d teststate.Doc) (update, error) {
		n, err := amount.Ask(ctx, wire.String(d.Name))
		if err != nil {
			return update{}, err
		}
		return step(l, fmt.Sprint(d.Name, n))(ctx, s)
	}
	read := graph.TaskNode(b, "read", asking, amount)
	var find graph.Sender[teststate.Doc]
	find = graph.RoutingTaskNode(b, "find", func(ctx context.Context, s work, d teststate.Doc) (update, graph.Next, error) {
		u, err := step(l, "find "+d.Name)(ctx, s)
		if len(d.Pages) == 0 {
			return u, read.Send(teststate.Doc{Name: d.Name}), err
		}
		next := find.Send(teststate.Doc{Name: d.Name + ".", Pages: d.Pages[1:]})
		next.Add(read.Send(teststate.Doc{Name: d.Name}))
		return u, next, err
	}, graph.Targets("find", "read"))
	b.RoutingNode("plan", func(ctx context.Context, s work) (update, graph.Next, error) {
		u, err := step(l, "plan")(ctx, s)
		next := find.Send(teststate.Doc{Name: "x", Pages: []int{1}})
		next.Add(find.Send(teststate.Doc{Name: "y"}))
		next.Add(graph.To("fast", "slow", "long"))
		return u, next, err
	}, graph.Targets("find", "fast", "slow", "long"))
	for _, id := range []graph.ID{"fast", "slow", "first", "long", "longer", "joined", "again"} {
		b.Node(id, step(l, string(id)))
	}
	b.Node("last", step(l, "last"), graph.Deferred())
	b.Edge(graph.Start, "plan")
	b.JoinAny([]graph.ID{"fast", "slow"}, "first")
	b.Edge("long", "longer")
	b.Join([]graph.ID{"longer", "first"}, "joined")
	b.Edge("joined", "again")
	b.Route("again", func(_ context.Context, s work) (graph.Next, error) {
		if s.Count%2 == 0 {
			return graph.To("again"), nil
		}
		return graph.To("last"), nil
	}, "again", "last")
	b.Edge("read", "last")
	b.Edge("last", graph.End)
	return b
}

// travelOf resumes until a graph is finished, and answers its questions one at a time.
func travelOf(t *testing.T, b *graph.Builder[work, update], s checkpoint.Saver, opts ...graph.Option) (result, error) {
	t.Helper()
	th := compile(t, b, append(opts, graph.Saver(s), graph.Concurrency(1), graph.Strict())...).Thread("t")
	res, err := th.Resume(t.Context(), graph.TakeOver())
	if errors.Is(err, checkpoint.ErrNotFound) {
		res, err = th.Invoke(t.Context(), input, graph.TakeOver())
	}
	for err == nil && res.Status != graph.Done {
		resume := []graph.ResumeOption{graph.TakeOver()}
		if len(res.Questions) > 0 {
			resume = append(resume, amount.Answer(res.Questions[0], 7))
		}
		res, err = th.Resume(t.Context(), resume...)
	}
	return res, err
}

// wrapped is b as the only node of a graph over the same state, so many graphs deep.
func wrapped(t *testing.T, b *graph.Builder[work, update], depth int, opts ...graph.Option) *graph.Builder[work, update] {
	t.Helper()
	opts = append(opts, graph.Concurrency(1))
	for range depth {
		child := compile(t, b, append(opts, graph.SubgraphOnly())...)
		opts = []graph.Option{graph.Concurrency(1)}
		b = newWork()
		b.Subgraph("sub", child)
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
	}
	return b
}

func TestASubgraphOverTheSameStateHasTheResultOfTheGraphAlone(t *testing.T) {
	stops := []graph.Option{
		graph.InterruptBefore("find", "joined"), graph.InterruptAfter("read", "again"), graph.BeforeRoute(),
	}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		alone := done(t, graph.Done)(travelOf(t, language(nil), memory.New(), append(stops, d)...))
		if len(alone.State.Log) < 14 {
			t.Fatalf("alone it did only %q", alone.State.Log)
		}
		for depth := 1; depth <= 2; depth++ {
			l := new(ledger)
			res := done(t, graph.Done)(travelOf(t, wrapped(t, language(l), depth, stops...), memory.New(), d))
			what := fmt.Sprint("depth ", depth)
			same(t, what, res.State, alone.State)
			for key, n := range l.copy() {
				if n > 1 {
					t.Errorf("%s: %s ran %d times", what, l.names[key], n)
				}
			}
		}
	})
}

func TestEveryCrashPointOfTheWholeLanguageInASubgraph(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		stops := []graph.Option{graph.InterruptBefore("joined"), graph.InterruptAfter("again"), graph.BeforeRoute()}
		want := done(t, graph.Done)(travelOf(t, language(nil), memory.New(), append(stops, d)...)).State
		everyCrashPoint(t, func(s checkpoint.Saver, l *ledger) (result, error) {
			return travelOf(t, wrapped(t, language(l), 1, stops...), s, d)
		}, func(what string, res result) { same(t, what, res.State, want) })
	})
}

func TestMaxStepsOfASubgraphIsAnErrorOfItsNode(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, own := range []bool{false, true} {
			what := fmt.Sprint("state of its own ", own)
			l := new(ledger)
			b := alongside(l, compile(t, steps(l, "a", "b", "c"), graph.SubgraphOnly(), graph.MaxSteps(1)))
			if own {
				b = around(t, l, compilePair(t, pairs(l, "a", "b", "c"), graph.MaxSteps(1)))
			}
			th, _ := newThread(t, b, d)
			res, err := th.Invoke(t.Context(), input)
			for range 2 {
				var node *graph.NodeError
				var steps *graph.MaxStepsError
				if !errors.As(err, &node) || node.Node != "sub" || !errors.As(err, &steps) || steps.Max != 1 {
					t.Fatalf("%s: got %v, want a *MaxStepsError of sub", what, err)
				}
				res, err = th.Resume(t.Context())
			}
			done(t, graph.Done)(res, err)
			ranOnce(t, what, l)
		}
	})
}
