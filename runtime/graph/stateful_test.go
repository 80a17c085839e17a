package graph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// diary is a loop around a subgraph that remembers: it is called until there are three lines.
func diary(t *testing.T, l *ledger, opts ...graph.Option) *graph.Builder[work, update] {
	t.Helper()
	inner := pairs(l, "a", "b")
	b := newWork()
	graph.MapSubgraph(b, "sub", compilePair(t, inner, opts...),
		func(_ context.Context, s work) (pairUpdate, error) {
			return pairUpdate{Bar: state.Append(fmt.Sprint("call ", len(s.Log)))}, nil
		},
		func(_ context.Context, _ work, p pair) (update, error) { return logged(strings.Join(p.Bar, " ")), nil },
		graph.Stateful())
	b.Route("sub", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log)%3 != 0 {
			return graph.To("sub"), nil
		}
		return graph.To(graph.End), nil
	}, "sub", graph.End)
	b.Edge(graph.Start, "sub")
	return b
}

var diaryLines = []string{"call 0 a b", "call 0 a b call 1 a b", "call 0 a b call 1 a b call 2 a b"}

func TestASubgraphRemembersItsLastCall(t *testing.T) {
	res := done(t, graph.Done)(compile(t, diary(t, nil)).Run(t.Context(), input))
	same(t, "run", res.State.Log, diaryLines)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := newThread(t, diary(t, nil), d, graph.Strict())
		res := done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "log", res.State.Log, diaryLines)
		th = compile(t, diary(t, nil), graph.Saver(s), d).Thread("t") // elsewhere
		res = done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "a second input", res.State.Log[3], diaryLines[2]+" call 3 a b")
		if _, err := th.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		res = done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "a new version", res.State.Log, diaryLines)
	})
}

func TestAReplayFindsWhatASubgraphRememberedThen(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		if d == graph.OnExit {
			return // it has no checkpoints between
		}
		th, _ := newThread(t, diary(t, nil), d)
		done(t, graph.Done)(th.Invoke(t.Context(), input))
		var ids []checkpoint.ID
		for snap, err := range th.History(t.Context(), checkpoint.Query{Sources: []checkpoint.Source{checkpoint.Loop}}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, snap.Checkpoint)
		}
		slices.Reverse(ids)
		res := done(t, graph.Done)(th.At(ids[0]).Resume(t.Context())) // after the first call
		same(t, "replay", res.State.Log, diaryLines)
		id, err := th.At(ids[1]).UpdateState(t.Context(), logged("edit"))
		if err != nil {
			t.Fatal(err)
		}
		res = done(t, graph.Done)(th.At(id).Resume(t.Context()))
		same(t, "fork", res.State.Log[3], "call 0 a b call 1 a b call 3 a b")
	})
}

func TestEveryCrashPointOfASubgraphThatRemembers(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		everyCrashPoint(t, func(s checkpoint.Saver, l *ledger) (result, error) {
			return travelOf(t, diary(t, l, graph.InterruptBefore("b")), s, d)
		}, func(what string, res result) { same(t, what, res.State.Log, diaryLines) })
	})
}

func TestAPrunedThreadRemembers(t *testing.T) {
	th, s := newThread(t, diary(t, nil))
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	if _, err := s.Prune(t.Context(), "t", checkpoint.Retention{Last: 1}); err != nil {
		t.Fatal(err)
	}
	to := memory.New()
	if err := checkpoint.Copy(t.Context(), s, "t", 0, to, "t"); err != nil {
		t.Fatal(err)
	}
	res := done(t, graph.Done)(compile(t, diary(t, nil), graph.Saver(to)).Thread("t").Invoke(t.Context(), input))
	same(t, "log", res.State.Log[3], diaryLines[2]+" call 3 a b")
}
