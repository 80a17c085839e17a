package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// atDepths runs test with a graph whose node gpu has a queue, and with one that has the node in
// a subgraph of a subgraph. build compiles the graph.
func atDepths(t *testing.T, test func(t *testing.T, build func(s checkpoint.Saver, declare func(b *graph.Builder[work, update]), of ...graph.Option) *app)) {
	t.Helper()
	t.Helper()
	for name, depth := range map[string]int{"in the graph": 0, "in a subgraph": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, func(s checkpoint.Saver, declare func(b *graph.Builder[work, update]), of ...graph.Option) *app {
					b := newWork()
					declare(b)
					b.Chain(graph.Start, "gpu", graph.End)
					for range depth {
						inner := compile(t, b, graph.SubgraphOnly())
						b = newWork()
						b.Subgraph("sub", inner)
						b.Chain(graph.Start, "sub", graph.End)
					}
					return compile(t, b, append(of, graph.Saver(s))...)
				})
			})
		})
	}
}

// TestATaskThatNoWorkerTakesFails tests rule 23.10: without a worker of the queue each attempt
// fails after the StartTimeout. Nothing looks at the thread before that.
func TestATaskThatNoWorkerTakesFails(t *testing.T) {
	atDepths(t, func(t *testing.T, build func(checkpoint.Saver, func(*graph.Builder[work, update]), ...graph.Option) *app) {
		t.Helper()
		var ran atomic.Int32
		s := memory.New()
		g := build(s, func(b *graph.Builder[work, update]) {
			b.Node("gpu", countedRuns(&ran, say("gpu")), graph.Queue("gpu"), graph.StartTimeout(time.Minute),
				graph.Retry(graph.RetryPolicy{If: func(err error) bool { return errors.Is(err, graph.ErrStartTimeout) }, Attempts: 3, Base: time.Millisecond}))
		})
		th, began := g.Thread("t"), time.Now()
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		for attempt := 1; attempt <= 3; attempt++ {
			if n := len(ready(t, s)); n != 0 {
				t.Fatalf("attempt %d: the thread is due before the time", attempt)
			}
			time.Sleep(time.Until(listed(t, s).Wake))
			if attempt == 3 {
				break
			}
			run, err := resumeDue(t, g, s, graph.DueOptions{})
			if err != nil || run.Status != graph.Waiting {
				t.Fatalf("attempt %d: got %v, %v; want the thread waiting", attempt, run.Status, err)
			}
		}
		_, err := resumeDue(t, g, s, graph.DueOptions{Retry: graph.RetryPolicy{Attempts: 1}})
		var queued *graph.QueueError
		if !errors.Is(err, graph.ErrStartTimeout) || !errors.As(err, &queued) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrStartTimeout", err)
		}
		if took := time.Since(began); took < 3*time.Minute || took > 3*time.Minute+time.Second {
			t.Errorf("the attempts took %s, want three minutes", took)
		}
		same(t, "tasks left in the queue", serving(g, s).work(t), 0)
		same(t, "runs of the node", ran.Load(), int32(0))
		res := done(t, graph.Done)(serving(g, s).resume(t, th)) // a person tries again, and there is a worker now
		same(t, "log", res.State.Log, []string{"gpu"})
	})
}

// TestACrashAtAStartTimeoutDelaysNothing: the run that decides dies at each of its calls of the
// saver, also after it has removed the task from the queue. The next run decides again.
func TestACrashAtAStartTimeoutDelaysNothing(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at, died := 1, true; died; at++ {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				build := func(s checkpoint.Saver) *app {
					b := single(say("gpu"), graph.Queue("gpu"), graph.StartTimeout(time.Minute))
					b.Fallback("pay", func(context.Context, work, error) (update, error) { return logged("cpu"), nil })
					return compile(t, b, graph.Saver(s))
				}
				lives, dying := build(s), &crashing{Saver: s, left: at, after: after}
				done(t, graph.Waiting)(lives.Thread("t").Invoke(t.Context(), input))
				time.Sleep(time.Minute + time.Second)
				_, _ = resumeDue(t, build(dying), s, graph.DueOptions{}) // it may die
				died = dying.left <= 0
				time.Sleep(time.Minute) // longer than the lease
				serve(t, lives, s)
				snap := snapshot(t, lives.Thread("t"))
				if snap.Status != graph.Done || len(snap.State.Log) != 1 {
					t.Errorf("after a crash at call %d, after it %t: got %s with the log %q, want it done", at, after, snap.Status, snap.State.Log)
				}
			})
		}
	}
}

// TestATaskShowsItsNewestHandOut: an attempt that failed by its StartTimeout is not shown. The
// next one is, once it is handed out.
func TestATaskShowsItsNewestHandOut(t *testing.T) {
	for _, pause := range []time.Duration{time.Millisecond, 2 * time.Minute} { // in memory, and as a timer
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			g := compile(t, single(say("gpu"), graph.Queue("gpu"), graph.StartTimeout(time.Minute),
				graph.Retry(graph.RetryPolicy{Attempts: 2, Base: pause, Max: pause, Jitter: func() float64 { return 1 }})), graph.Saver(s))
			th := g.Thread("t")
			next := func() {
				t.Helper()
				time.Sleep(time.Until(listed(t, s).Wake))
				if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Waiting {
					t.Fatalf("got %v, %v; want the thread waiting", run.Status, err)
				}
			}
			done(t, graph.Waiting)(th.Invoke(t.Context(), input))
			first := snapshot(t, th).Tasks[0]
			next()
			if pause > time.Minute {
				same(t, "queue during the pause", snapshot(t, th).Tasks[0].Queue, "")
				next()
			}
			for range 20 {
				second := snapshot(t, th).Tasks[0]
				if second.QueueThread == first.QueueThread || time.Since(second.Queued) > time.Second {
					t.Fatalf("pause %s: got thread %q of the queue since %v, want that of the second attempt", pause, second.QueueThread, second.Queued)
				}
			}
		})
	}
}

// TestAFallbackReplacesATaskThatNoWorkerTakes tests rules 11.9 and 23.10.
func TestAFallbackReplacesATaskThatNoWorkerTakes(t *testing.T) {
	atDepths(t, func(t *testing.T, build func(checkpoint.Saver, func(*graph.Builder[work, update]), ...graph.Option) *app) {
		t.Helper()
		s := memory.New()
		g := build(s, func(b *graph.Builder[work, update]) {
			b.Node("gpu", say("gpu"), graph.Queue("gpu"), graph.StartTimeout(time.Minute))
			b.Fallback("gpu", func(_ context.Context, _ work, err error) (update, error) {
				if !errors.Is(err, graph.ErrStartTimeout) {
					return update{}, err
				}
				return logged("cpu"), nil
			})
		})
		done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
		time.Sleep(time.Minute + time.Second)
		serve(t, g, s)
		snap := snapshot(t, g.Thread("t"))
		same(t, "log", snap.State.Log, []string{"cpu"})
	})
}

// TestATaskThatAWorkerHoldsHasNoStartTimeout tests rule 23.10: a worker takes the task in time,
// and runs it for longer than the StartTimeout.
func TestATaskThatAWorkerHoldsHasNoStartTimeout(t *testing.T) {
	atDepths(t, func(t *testing.T, build func(checkpoint.Saver, func(*graph.Builder[work, update]), ...graph.Option) *app) {
		t.Helper()
		s := memory.New()
		g := build(s, func(b *graph.Builder[work, update]) {
			b.Node("gpu", say("gpu"), graph.Queue("gpu"), graph.StartTimeout(30*time.Second))
		})
		th := g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		p := serving(g, s)
		task := p.only(t) // for a minute
		time.Sleep(31 * time.Second)
		run, err := resumeDue(t, g, s, graph.DueOptions{})
		if err != nil || run.Status != graph.Waiting {
			t.Fatalf("got %v, %v; want the thread waiting", run.Status, err)
		}
		if wake := time.Until(listed(t, s).Wake); wake < 59*time.Minute {
			t.Errorf("the thread is due in %s, want an hour", wake)
		}
		if err := p.run(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		serve(t, g, s)
		same(t, "log", snapshot(t, th).State.Log, []string{"gpu"})
	})
}

func TestAStartTimeoutIsChecked(t *testing.T) {
	for want, opts := range map[string][]graph.NodeOption{
		"has a StartTimeout and no Queue": {graph.StartTimeout(time.Minute)},
		"its StartTimeout is 0s":          {graph.StartTimeout(0), graph.Queue("gpu")},
	} {
		b := newWork()
		b.Node("a", say("a"), opts...)
		if got := strings.Join(faults(t, line(b, "a"), graph.Saver(memory.New())), "\n"); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
