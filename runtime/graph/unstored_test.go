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
	"github.com/graphgen-go/graphgen/savers/memory"
)

// logs returns the namespaces that a thread has records in.
func logs(t *testing.T, s checkpoint.Saver) (namespaces []string) {
	t.Helper()
	seen := make(map[string]bool)
	for item, err := range s.Export(t.Context(), "t", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Record != nil && !seen[item.Record.Namespace] {
			seen[item.Record.Namespace] = true
			namespaces = append(namespaces, item.Record.Namespace)
		}
	}
	return namespaces
}

func TestAnUnstoredSubgraphStoresItsResultAlone(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := newThread(t, around(t, nil, compilePair(t, pairs(nil, "a", "b")), graph.Unstored()), d, graph.Strict())
		for range 2 {
			done(t, graph.Done)(th.Invoke(t.Context(), input))
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "log", strings.Join(snap.State.Log, ", "), aroundLog+", before, sibling, given 5 5 a+b, after")
		same(t, "logs", logs(t, s), []string{""})
		for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			same(t, "calls", len(snap.Calls), 0)
		}
		same(t, "described", compile(t, around(t, nil, compilePair(t, pairs(nil, "a")), graph.Unstored())).Describe().Nodes[3].Unstored, true)
	})
}

// A long call leaves no log, also in an inner call of it, and over the same state.
func TestAnUnstoredLoopLeavesNoRecords(t *testing.T) {
	inner := newWork()
	inner.Subgraph("loop", compile(t, spinning(200, new(ledger)), graph.SubgraphOnly()))
	inner.Chain(graph.Start, "loop", graph.End)
	b := newWork()
	b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()), graph.Unstored())
	b.Chain(graph.Start, "sub", graph.End)
	th, s := newThread(t, b, graph.Sync)
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "lines", len(res.State.Log), 200)
	same(t, "logs", logs(t, s), []string{""})
	same(t, "checkpoints", len(historyOf(t, th)), 3)
}

// A call that fails runs again whole. Its tasks have the same keys, and no other task has them.
func TestAnUnstoredCallRunsAgainWhole(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		l := new(ledger)
		var broken atomic.Bool
		broken.Store(true)
		inner := pairs(l, "a", "b")
		inner.Node("c", func(ctx context.Context, _ pair) (pairUpdate, error) {
			l.note(ctx)
			if broken.Load() {
				return pairUpdate{}, errBroken
			}
			return pairUpdate{}, nil
		})
		inner.Chain("b", "c", graph.End)
		th, _ := newThread(t, around(t, l, compilePair(t, inner), graph.Unstored()), d)
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want the failure", err)
		}
		broken.Store(false)
		done(t, graph.Done)(th.Resume(t.Context()))
		done(t, graph.Done)(th.Invoke(t.Context(), input))
		runs := make(map[string][]int) // by node
		for key, n := range l.runs {
			runs[l.names[key]] = append(runs[l.names[key]], n)
		}
		for _, node := range []string{"a", "b", "c"} {
			if got := runs[node]; len(got) != 2 || got[0]+got[1] != 3 {
				t.Errorf("node %s: got %v runs by key, want 2 of the failed call and 1 of the next", node, got)
			}
		}
	})
}

func TestEveryCrashPointAroundAnUnstoredCall(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := around(t, nil, compilePair(t, pairs(nil, "a", "b")), graph.Unstored())
		for left := 1; ; left++ {
			inner := memory.New()
			_, err := compile(t, b, graph.Saver(&crashing{Saver: inner, left: left}), d).Thread("t").Invoke(t.Context(), input)
			if err == nil {
				break
			}
			th := compile(t, b, graph.Saver(inner), d).Thread("t")
			res, err := th.Resume(t.Context(), graph.TakeOver())
			if errors.Is(err, checkpoint.ErrNotFound) {
				res, err = th.Invoke(t.Context(), input)
			}
			same(t, fmt.Sprint("log after a crash at call ", left), strings.Join(done(t, graph.Done)(res, err).State.Log, ", "), aroundLog)
			same(t, "logs", logs(t, inner), []string{""})
		}
	})
}

func TestAnUnstoredSubgraphCannotWait(t *testing.T) {
	asks := pairs(nil)
	asks.Node("ask", func(context.Context, pair) (pairUpdate, error) { return pairUpdate{}, nil }, refund)
	asks.Chain(graph.Start, "ask", graph.End)
	receives := pairs(nil)
	receives.Node("receive", func(context.Context, pair) (pairUpdate, error) { return pairUpdate{}, nil }, payment)
	receives.Chain(graph.Start, "receive", graph.End)
	queued := pairs(nil)
	queued.Node("queued", func(context.Context, pair) (pairUpdate, error) { return pairUpdate{}, nil }, graph.Queue("q"))
	queued.Chain(graph.Start, "queued", graph.End)
	for want, c := range map[string]struct {
		inner *graph.Builder[pair, pairUpdate]
		opts  []graph.Option
		more  []graph.NodeOption
	}{
		"asks questions":                          {inner: asks},
		"receives signals":                        {inner: receives},
		"has a Queue":                             {inner: queued},
		"has InterruptBefore or":                  {inner: pairs(nil, "a"), opts: []graph.Option{graph.InterruptAfter("a")}},
		"is Unstored and Stateful; its state can": {inner: pairs(nil, "a"), more: []graph.NodeOption{graph.Stateful()}},
	} {
		child := compilePair(t, c.inner, c.opts...)
		got := faults(t, around(t, nil, child, append(c.more, graph.Unstored())...), graph.Saver(memory.New()))
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("got the faults %q, want one that the subgraph %s", got, want)
		}
	}
	th, _ := newThread(t, around(t, nil, compilePair(t, pairs(nil, "a")), graph.Unstored()), graph.Sync)
	_, err := th.Invoke(t.Context(), input, graph.InSubgraph("sub", graph.InterruptBefore("a")))
	if err == nil || !strings.Contains(err.Error(), `subgraph "sub" is Unstored`) {
		t.Errorf("got %v, want an error that the call cannot stop", err)
	}
}
