package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestALongPauseBeforeARetryEndsTheRun(t *testing.T) {
	for _, depth := range []int{0, 1} {
		eachInBubble(t, func(t *testing.T, d graph.Durability) {
			var attempts []int
			b := newWork()
			b.Node("flaky", func(ctx context.Context, _ work) (update, error) {
				if err := graph.Sleep(ctx, day); err != nil {
					return update{}, err
				}
				n := graph.CurrentTask(ctx).Attempt
				if attempts = append(attempts, n); n < 3 {
					return update{}, graph.RetryAfter(errBroken, time.Duration(n)*time.Hour)
				}
				return logged("done"), nil
			}, graph.Retry(graph.RetryPolicy{Attempts: 3}))
			b.Edge(graph.Start, "flaky")
			b.Edge("flaky", graph.End)
			for range depth {
				outer := newWork()
				outer.Subgraph("sub", compile(t, b, graph.SubgraphOnly()))
				outer.Edge(graph.Start, "sub")
				outer.Edge("sub", graph.End)
				b = outer
			}
			th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
			began := time.Now()
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
			for _, after := range []time.Duration{day, time.Hour, 2 * time.Hour} {
				same(t, "timers", len(res.Timers), 1)
				wake := described(t, th).Wake
				same(t, "pause", time.Until(wake), after)
				early, err := th.Resume(t.Context())
				done(t, graph.Waiting)(early, err)
				same(t, "wake after a resume that is too early", described(t, th).Wake, wake)
				time.Sleep(after)
				if res, err = th.Resume(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			done(t, graph.Done)(res, nil)
			same(t, "attempts", attempts, []int{1, 2, 3})
			same(t, "time", time.Since(began), day+3*time.Hour)
			same(t, "log", res.State.Log, []string{"in", "done"})
		})
	}
}

func TestALongPauseBeforeARetryOfASubgraph(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		ran := make(map[string]int)
		child := newWork()
		child.Node("a", func(context.Context, work) (update, error) {
			ran["a"]++
			return logged("a"), nil
		})
		child.Node("b", func(context.Context, work) (update, error) {
			if ran["b"]++; ran["b"] < 3 {
				return update{}, graph.RetryAfter(errBroken, day)
			}
			return logged("b"), nil
		})
		child.Edge(graph.Start, "a")
		child.Edge("a", "b")
		child.Edge("b", graph.End)
		b := newWork()
		b.Subgraph("sub", compile(t, child, graph.SubgraphOnly()), graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
		th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		done(t, graph.Waiting)(th.Resume(t.Context()))
		time.Sleep(day)
		done(t, graph.Waiting)(th.Resume(t.Context()))
		time.Sleep(day)
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "a", "b"})
		same(t, "runs", ran, map[string]int{"a": 1, "b": 3})
	})
}

func TestALongPauseCountsItsAttempts(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("flaky", func(context.Context, work) (update, error) { return update{}, graph.RetryAfter(errBroken, day) },
			graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Edge(graph.Start, "flaky")
		b.Edge("flaky", graph.End)
		th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		snap, err := th.State(t.Context())
		if err != nil || len(snap.Tasks) != 1 || snap.Tasks[0].Failure == "" {
			t.Errorf("between two attempts: got the tasks %+v, %v; want the error of the first", snap.Tasks, err)
		}
		time.Sleep(day)
		done(t, graph.Waiting)(th.Resume(t.Context()))
		time.Sleep(day)
		var failed *graph.NodeError
		if _, err := th.Resume(t.Context()); !errors.As(err, &failed) || failed.Attempt != 3 {
			t.Errorf("got %v, want the failure of the third attempt", err)
		}
	})
}

func TestRerunSkipsThePauseBeforeARetry(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		attempts := make(map[string][]int)
		flaky := func(id string) func(context.Context, work) (update, error) {
			return func(ctx context.Context, _ work) (update, error) {
				n := graph.CurrentTask(ctx).Attempt
				if attempts[id] = append(attempts[id], n); n < 2 {
					return update{}, graph.RetryAfter(errBroken, day)
				}
				return logged(id), nil
			}
		}
		b := newWork()
		for _, id := range []graph.ID{"mended", "other"} {
			b.Node(id, flaky(string(id)), graph.Retry(graph.RetryPolicy{Attempts: 3}))
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		th := compile(t, b, graph.Saver(memory.New()), d, graph.Concurrency(1)).Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		began := time.Now()
		done(t, graph.Waiting)(th.Resume(t.Context(), graph.Rerun("mended")))
		same(t, "time", time.Since(began), time.Duration(0))
		same(t, "attempts after the Rerun", attempts, map[string][]int{"mended": {1, 2}, "other": {1}})
		time.Sleep(day)
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "attempts", attempts, map[string][]int{"mended": {1, 2}, "other": {1, 2}})
		same(t, "log", res.State.Log, []string{"in", "mended", "other"})
	})
}
