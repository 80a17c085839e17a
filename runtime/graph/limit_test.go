package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// wide builds a graph of n nodes that are due together.
func wide(n int, f func(context.Context, work) (update, error), opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	for i := range n {
		id := graph.ID(fmt.Sprint("n", i))
		b.Node(id, f, opts...)
		b.Chain(graph.Start, id, graph.End)
	}
	return b
}

// A limiter that several nodes, graphs and runs have bounds all of them together.
func TestALimitIsSharedByGraphsAndRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, ran atomic.Int32
		limit := graph.Limit(graph.MaxConcurrent(3))
		takes := func(context.Context, work) (update, error) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			ran.Add(1)
			return update{}, nil
		}
		one, other := compile(t, wide(5, takes, limit)), compile(t, wide(4, takes, limit))
		began := time.Now()
		var runs sync.WaitGroup
		for _, app := range []*app{one, one, other} {
			runs.Go(func() {
				if _, err := app.Run(t.Context(), update{}); err != nil {
					t.Error(err)
				}
			})
		}
		runs.Wait()
		same(t, "tasks", ran.Load(), int32(14))
		same(t, "most at a time", most.Load(), int32(3))
		same(t, "time", time.Since(began), 5*time.Second) // 14 of them, 3 a second
	})
}

// The task that waits longest runs first, and a cancelled run leaves the queue.
func TestALimitIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := graph.MaxConcurrent(1)
		var order []string // one at a time
		run := func(name string, ctx context.Context) {
			b := newWork()
			b.Node("a", func(context.Context, work) (update, error) {
				order = append(order, name)
				time.Sleep(time.Minute)
				return update{}, nil
			}, graph.Limit(limit))
			b.Chain(graph.Start, "a", graph.End)
			_, err := compile(t, b).Run(ctx, update{})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var runs sync.WaitGroup
		for i := range 20 {
			name, with := fmt.Sprint(i), t.Context()
			if i%3 == 1 {
				name, with = "cancelled", ctx
			}
			runs.Go(func() { run(name, with) })
			time.Sleep(time.Second)
		}
		cancel() // the first one still runs
		runs.Wait()
		same(t, "order", strings.Join(order, " "), "0 2 3 5 6 8 9 11 12 14 15 17 18")
	})
}

// The wait is no part of an attempt, and the pause before a retry holds no place.
func TestWaitingForALimitIsNoPartOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := graph.Limit(graph.MaxConcurrent(1))
		b := newWork()
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			time.Sleep(time.Minute)
			if graph.CurrentTask(ctx).Attempt == 1 {
				return update{}, errBroken
			}
			return logged("a"), nil
		}, limit, graph.Timeout(90*time.Second), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: time.Hour, Max: time.Hour, Jitter: whole}))
		b.Node("b", func(ctx context.Context, _ work) (update, error) {
			time.Sleep(time.Minute)
			return logged(fmt.Sprint("b", graph.CurrentTask(ctx).Attempt)), ctx.Err()
		}, limit, graph.Timeout(90*time.Second))
		for _, id := range []graph.ID{"a", "b"} {
			b.Chain(graph.Start, id, graph.End)
		}
		took := make(map[string]time.Duration)
		var mu sync.Mutex
		began := time.Now()
		res := done(t, graph.Done)(compile(t, b, graph.Observe(observer(func(e graph.RunEvent) {
			if e.Kind == graph.EventTaskEnded {
				mu.Lock()
				defer mu.Unlock()
				took[fmt.Sprint(e.Node, e.Attempt)] = e.Took
			}
		}))).Run(t.Context(), update{}))
		same(t, "log", res.State.Log, []string{"a", "b1"})
		same(t, "time of attempts", took, map[string]time.Duration{"a1": time.Minute, "a2": time.Minute, "b1": time.Minute})
		if d := time.Since(began); d > 64*time.Minute {
			t.Errorf("took %s, want b to run during the pause of a", d)
		}
	})
}

// waiting is a limiter of the same kind as *rate.Limiter.
type waiting func(context.Context) error

func (w waiting) Wait(ctx context.Context) error { return w(ctx) }

// Every attempt waits for all of the limiters.
func TestARateLimitsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticks := make(chan time.Time)
		go func() {
			for range 6 {
				time.Sleep(time.Second)
				ticks <- time.Now()
			}
		}()
		rate := graph.Rate(waiting(func(ctx context.Context) error {
			select {
			case <-ticks:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}))
		runs := 0
		app := compile(t, wide(6, func(context.Context, work) (update, error) { runs++; return update{}, nil },
			graph.Limit(graph.MaxConcurrent(1), rate)))
		began := time.Now()
		done(t, graph.Done)(app.Run(t.Context(), update{}))
		same(t, "runs", runs, 6)
		same(t, "time", time.Since(began), 6*time.Second)
	})
}

// limiting is a Limiter made of a function.
type limiting func(context.Context) (func(), error)

func (l limiting) Acquire(ctx context.Context) (func(), error) { return l(ctx) }

// The error of a limiter fails the task. The limiters before it are released.
func TestALimiterThatFailsFailsTheTask(t *testing.T) {
	for name, l := range map[string]limiting{
		"it broke":             func(context.Context) (func(), error) { return nil, errBroken },
		"panic: bang":          func(context.Context) (func(), error) { panic("bang") },
		"panic: bang when it ": func(context.Context) (func(), error) { return func() { panic("bang when it ") }, nil },
	} {
		one := graph.MaxConcurrent(1)
		b := newWork()
		b.Node("a", say("a"), graph.Limit(one, l))
		b.Fallback("a", func(_ context.Context, _ work, err error) (update, error) { return update{}, err })
		b.Chain(graph.Start, "a", graph.End)
		var node *graph.NodeError
		_, err := compile(t, b).Run(t.Context(), update{})
		if want := "its Limit: " + name; !errors.As(err, &node) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want it to end with %q", err, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := one.Acquire(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire of a cancelled context: got %v", err)
		}
		release, err := one.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
}

func TestLimitsInCompile(t *testing.T) {
	for want, l := range map[string]graph.Limiter{
		`node "a": its Limit is MaxConcurrent(0); want at least 1`: graph.MaxConcurrent(0),
		`node "a": its Limit is nil`:                               nil,
		`node "a": its Limit has a Rate of nil`:                    graph.Rate(nil),
	} {
		b := newWork()
		b.Node("a", say("a"), graph.Limit(l))
		b.Chain(graph.Start, "a", graph.End)
		if _, err := b.Compile(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
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
