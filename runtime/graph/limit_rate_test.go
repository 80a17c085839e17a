package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestARateLimiterServesRunsInOrder: the first run that waits for a *rate.Limiter is the first to
// start, and a run that leaves does not change the order.
func TestARateLimiterServesRunsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := graph.Limit(graph.Rate(rate.NewLimiter(rate.Every(time.Minute), 1)))
		began := time.Now()
		var mu sync.Mutex
		var order []string // one a minute
		run := func(ctx context.Context, name string) {
			b := newWork()
			b.Node("a", func(context.Context, work) (update, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprintf("%s@%s", name, time.Since(began).Truncate(time.Second)))
				return update{}, nil
			}, limit)
			b.Chain(graph.Start, "a", graph.End)
			if _, err := compile(t, b).Run(ctx, update{}); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		leaving, cancel := context.WithCancel(t.Context())
		var runs sync.WaitGroup
		for i, ctx := range []context.Context{t.Context(), t.Context(), t.Context(), t.Context(), leaving} {
			runs.Go(func() { run(ctx, fmt.Sprint(i)) })
			time.Sleep(time.Second)
		}
		cancel()
		synctest.Wait()
		runs.Go(func() { run(t.Context(), "last") })
		runs.Wait()
		same(t, "order", strings.Join(order, " "), "0@0s 1@1m0s 2@2m0s 3@3m0s last@4m0s")
	})
}

// TestATaskWhoseTurnIsBehindTheDeadlineIsCancelled: a *rate.Limiter refuses such a wait.
// The run ends at its deadline, as if the task was cancelled, by rule 11.12.
func TestATaskWhoseTurnIsBehindTheDeadlineIsCancelled(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		b := wide(3, func(ctx context.Context, _ work) (update, error) {
			return logged(graph.CurrentTask(ctx).Node), nil
		},
			graph.Limit(graph.Rate(rate.NewLimiter(rate.Every(time.Minute), 1))), graph.Retry(graph.RetryPolicy{Attempts: 2}))
		th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		res, err := th.Invoke(ctx, update{})
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*graph.NodeError)) {
			t.Errorf("got error %v, want that of the context", err)
		}
		same(t, "status", res.Status, graph.Ready)
		same(t, "time", time.Since(began), 90*time.Second)
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		finished := 0
		for _, task := range snap.Tasks {
			same(t, "failure", task.Failure, "")
			if task.Finished {
				finished++
			}
		}
		same(t, "finished tasks", finished, 2)
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", len(res.State.Log), 3)
	})
}

// TestCompileFindsALimitThatWaitsForItself: a subgraph and a node in it have one MaxConcurrent.
func TestCompileFindsALimitThatWaitsForItself(t *testing.T) {
	limit := graph.MaxConcurrent(8)
	nested := func(inner graph.Limiter, depth int) *graph.Builder[work, update] {
		b := newWork()
		b.Node("node", say("node"), graph.Limit(inner))
		b = line(b, "node")
		for i := range depth {
			outer := newWork()
			var opts []graph.NodeOption
			if i == depth-1 {
				opts = append(opts, graph.Limit(limit))
			}
			outer.Subgraph("sub", compile(t, b, graph.SubgraphOnly()), opts...)
			b = line(outer, "sub")
		}
		return b
	}
	for depth, place := range map[int]string{1: "node", 2: "sub/node"} {
		_, err := nested(limit, depth).Compile()
		var faults *graph.CompileError
		if !errors.As(err, &faults) {
			t.Fatalf("depth %d: got %v, want a CompileError", depth, err)
		}
		same(t, "faults", faults.Faults, []string{fmt.Sprintf(
			`subgraph "sub" and its node %q have the same limiter, so the node waits for the subgraph, which waits for the node; make one for each`, place)})
		if _, err := nested(graph.MaxConcurrent(8), depth).Compile(); err != nil {
			t.Errorf("with another limiter: %v", err)
		}
	}
}
