package rate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
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
			b := graph.New("g", teststate.WorkSchema)
			b.Node("a", func(context.Context, teststate.Work) (teststate.WorkUpdate, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprintf("%s@%s", name, time.Since(began).Truncate(time.Second)))
				return teststate.WorkUpdate{}, nil
			}, limit)
			b.Chain(graph.Start, "a", graph.End)
			app, err := b.Compile()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := app.Run(ctx, teststate.WorkUpdate{}); err != nil && !errors.Is(err, context.Canceled) {
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
		if want := []string{"0@0s", "1@1m0s", "2@2m0s", "3@3m0s", "last@4m0s"}; !slices.Equal(order, want) {
			t.Errorf("got the order %q, want %q", order, want)
		}
	})
}

// TestATaskWhoseTurnIsBehindTheDeadlineIsCancelled: a *rate.Limiter refuses such a wait. The run
// ends at its deadline, as if the task was cancelled, by rule 11.12.
func TestATaskWhoseTurnIsBehindTheDeadlineIsCancelled(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.OnExit} {
		t.Run(d.String(), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { endsAtTheDeadline(t, d) }) })
	}
}

// endsAtTheDeadline runs three nodes at one a minute, for one and a half minutes, and then
// resumes.
func endsAtTheDeadline(t *testing.T, d graph.Durability) {
	t.Helper()
	limit := graph.Limit(graph.Rate(rate.NewLimiter(rate.Every(time.Minute), 1)))
	b := graph.New("g", teststate.WorkSchema)
	for _, id := range []graph.ID{"n0", "n1", "n2"} {
		b.Node(id, func(context.Context, teststate.Work) (u teststate.WorkUpdate, _ error) {
			u.Log.Append(string(id))
			return u, nil
		}, limit, graph.Retry(graph.RetryPolicy{Attempts: 2}))
		b.Chain(graph.Start, id, graph.End)
	}
	app, err := b.Compile(graph.Saver(memory.New()), d)
	if err != nil {
		t.Fatal(err)
	}
	th := app.Thread("t")
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	res, err := th.Invoke(ctx, teststate.WorkUpdate{})
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*graph.NodeError)) {
		t.Errorf("got error %v, want that of the context", err)
	}
	if took := time.Since(began); res.Status != graph.Ready || took != 90*time.Second {
		t.Errorf("got %s after %s, want ready after 90 s", res.Status, took)
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	finished := 0
	for _, task := range snap.Tasks {
		if task.Failure != "" {
			t.Errorf("task %s has the failure %q, want none", task.Node, task.Failure)
		}
		if task.Finished {
			finished++
		}
	}
	if finished != 2 {
		t.Errorf("%d tasks have finished, want 2", finished)
	}
	res, err = th.Resume(t.Context())
	if err != nil || res.Status != graph.Done || len(res.State.Log) != 3 {
		t.Errorf("resume: got %s, %q, %v; want done, with three lines", res.Status, res.State.Log, err)
	}
}
