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

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// serving serves a queue of g with so many workers until the end of the test.
func serving(t *testing.T, g *app, slots int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error)
	go func() { over <- g.ServeQueue(ctx, graph.Serving{Queue: "gpu", Slots: slots}) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

// queued compiles Start -> a -> gpu -> z -> End, where workers of a queue run gpu.
func queued(t *testing.T, node func(context.Context, work) (update, error), s checkpoint.Saver, o []graph.Option, more ...graph.NodeOption) *app {
	t.Helper()
	b := newWork()
	b.Node("a", say("a"))
	b.Node("gpu", node, append(more, graph.Queue("gpu"))...)
	b.Node("z", say("z"))
	return compile(t, line(b, "a", "gpu", "z"), append(o, graph.Saver(s))...)
}

// countedRuns counts calls of a node.
func countedRuns(n *atomic.Int32, node func(context.Context, work) (update, error)) func(context.Context, work) (update, error) {
	return func(ctx context.Context, s work) (update, error) {
		n.Add(1)
		return node(ctx, s)
	}
}

// TestAWorkerOfAQueueRunsTheNode tests rule 23.1.
func TestAWorkerOfAQueueRunsTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var task graph.Task
		g := queued(t, func(ctx context.Context, s work) (update, error) {
			task = graph.CurrentTask(ctx)
			return logged("gpu after " + strings.Join(s.Log, "+")), nil
		}, memory.New(), nil)
		serving(t, g, 1)
		res := done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
		same(t, "log", res.State.Log, []string{"a", "gpu after a", "z"})
		if task.Key == "" || task.Node != "gpu" || task.Thread != "t" || task.Attempt != 1 || task.Step != 3 {
			t.Errorf("task: got %+v, want attempt 1 of gpu in step 3 of thread t, with a key", task)
		}
	})
}

// TestATaskWaitsForAWorker starts the worker an hour late.
func TestATaskWaitsForAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := queued(t, say("gpu"), memory.New(), nil)
		began := time.Now()
		time.AfterFunc(time.Hour, func() { serving(t, g, 1) })
		done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
		same(t, "time", time.Since(began), time.Hour)
	})
}

func TestRunWithoutAThreadRunsTheNodeOfAQueueItself(t *testing.T) {
	res := done(t, graph.Done)(queued(t, say("gpu"), memory.New(), nil).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"a", "gpu", "z"})
}

// TestTheEndOfARunCancelsTheTaskInTheWorker checks the context of a node in a worker.
func TestTheEndOfARunCancelsTheTaskInTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		stopped := false
		g := queued(t, func(ctx context.Context, _ work) (update, error) {
			cancel()
			<-ctx.Done()
			stopped = true
			return update{}, ctx.Err()
		}, memory.New(), nil)
		serving(t, g, 1)
		if _, err := g.Thread("t").Invoke(ctx, input); !errors.Is(err, context.Canceled) || !stopped {
			t.Errorf("got %v, the node stopped: %t; want a cancelled run after its node", err, stopped)
		}
	})
}

// TestQuestionsOfAQueueReachTheThread asks in a worker, answers, and lets a question expire.
func TestQuestionsOfAQueueReachTheThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		approve := graph.NewQuestion[wire.String, wire.Bool]("approve")
		node := countedRuns(&runs, func(ctx context.Context, _ work) (update, error) {
			graph.Summary(ctx, "for Ada")
			v, err := approve.Ask(ctx, "pay?", graph.ExpireAfter(time.Hour))
			if errors.Is(err, graph.ErrExpired) {
				return logged("expired"), nil
			}
			if err != nil {
				return update{}, err
			}
			return logged(fmt.Sprint("answered ", v)), nil
		})
		g := queued(t, node, memory.New(), nil, approve)
		serving(t, g, 2)
		res := done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
		if len(res.Questions) != 1 || res.Questions[0].Summary != "for Ada" {
			t.Fatalf("questions: got %+v, want one with the summary", res.Questions)
		}
		res = done(t, graph.Done)(g.Thread("t").Resume(t.Context(), approve.Answer(res.Questions[0], true)))
		same(t, "log", res.State.Log, []string{"a", "answered true", "z"})
		same(t, "executions", runs.Load(), int32(2))

		done(t, graph.Waiting)(g.Thread("expires").Invoke(t.Context(), input))
		time.Sleep(2 * time.Hour)
		res = done(t, graph.Done)(g.Thread("expires").Resume(t.Context()))
		same(t, "log after the end of the question", res.State.Log, []string{"a", "expired", "z"})
	})
}

// quotaError has a type, which only the worker sees.
type quotaError struct{}

func (quotaError) Error() string { return "quota" }

func TestRetryOfAQueueIsThatOfALocalTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []int
		fails := 2
		node := func(ctx context.Context, _ work) (update, error) {
			attempts = append(attempts, graph.CurrentTask(ctx).Attempt)
			if len(attempts) <= fails {
				return update{}, quotaError{}
			}
			return logged("gpu"), nil
		}
		policy := graph.Retry(
			graph.RetryPolicy{If: func(err error) bool { return errors.Is(err, errBroken) }, Attempts: 9},
			graph.RetryPolicy{If: func(err error) bool { return errors.As(err, new(quotaError)) }, Attempts: 3, Base: time.Second, Jitter: func() float64 { return 1 }},
		)
		g := queued(t, node, memory.New(), nil, policy)
		serving(t, g, 1)
		began := time.Now()
		done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
		same(t, "attempts", attempts, []int{1, 2, 3})
		same(t, "pauses", time.Since(began), 3*time.Second)

		attempts, fails = nil, 3
		_, err := g.Thread("fails").Invoke(t.Context(), input)
		var failed *graph.QueueError
		var node3 *graph.NodeError
		if !errors.As(err, &failed) || failed.Text != "quota" || failed.Queue != "gpu" || !errors.As(err, &node3) || node3.Attempt != 3 {
			t.Errorf("got %v, want a *QueueError of attempt 3", err)
		}
		done(t, graph.Done)(g.Thread("fails").Resume(t.Context()))
		same(t, "attempts of the failed run and of the next", attempts, []int{1, 2, 3, 1})
	})
}

// TestALongPauseOfAQueueIsATimer parks the second attempt of a task.
func TestALongPauseOfAQueueIsATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []int
		node := func(ctx context.Context, _ work) (update, error) {
			attempts = append(attempts, graph.CurrentTask(ctx).Attempt)
			if len(attempts) == 1 {
				return update{}, graph.RetryAfter(errBroken, time.Hour)
			}
			return logged("gpu"), nil
		}
		g := queued(t, node, memory.New(), nil, graph.Retry(graph.RetryPolicy{Attempts: 2}))
		serving(t, g, 1)
		res := done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
		same(t, "timers", len(res.Timers), 1)
		time.Sleep(time.Hour)
		done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
		same(t, "attempts", attempts, []int{1, 2})
	})
}

func TestFailuresInAWorkerKeepTheirClass(t *testing.T) {
	tests := []struct {
		name string
		node func(context.Context, work) (update, error)
		is   func(error) bool
	}{
		{"a timeout", func(ctx context.Context, _ work) (update, error) { <-ctx.Done(); return update{}, ctx.Err() },
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		{"a panic", func(context.Context, work) (update, error) { panic("boom") },
			func(err error) bool {
				return errors.As(err, new(*graph.PanicError)) && strings.Contains(err.Error(), "boom")
			}},
		{"an error", func(context.Context, work) (update, error) { return update{}, errBroken },
			func(err error) bool {
				return errors.As(err, new(*graph.QueueError)) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errBroken)
			}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := queued(t, c.node, memory.New(), nil, graph.Timeout(time.Minute))
				serving(t, g, 1)
				if _, err := g.Thread("t").Invoke(t.Context(), input); !c.is(err) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// lossy is a TaskQueue that a test controls.
type lossy struct {
	graph.LocalQueue
	do func(ctx context.Context, t graph.QueuedTask) error
}

func (l *lossy) Do(ctx context.Context, t graph.QueuedTask) error { return l.do(ctx, t) }

// TestAnOutcomeThatNobodyAnnouncesIsFound loses each reply of a worker.
func TestAnOutcomeThatNobodyAnnouncesIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		var g *app
		q := &lossy{do: func(ctx context.Context, task graph.QueuedTask) error {
			if err := g.RunQueued(ctx, task); err != nil {
				t.Errorf("run: %v", err)
			}
			<-ctx.Done() // the reply is lost
			return ctx.Err()
		}}
		g = queued(t, countedRuns(&runs, say("gpu")), memory.New(), []graph.Option{graph.Queues(q)})
		began := time.Now()
		res := done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
		same(t, "log", res.State.Log, []string{"a", "gpu", "z"})
		same(t, "executions", runs.Load(), int32(1))
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the run took %s, want at most 2 s", took)
		}
	})
}

// TestATaskIsHandedOutAgain: a TaskQueue fails, and workers die before and after they store.
func TestATaskIsHandedOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		var g *app
		calls := 0
		q := &lossy{do: func(ctx context.Context, task graph.QueuedTask) error {
			switch calls++; calls {
			case 1:
				return errBroken // nothing ran
			case 2:
				return nil // the task was lost
			case 3:
				panic("a fault of the queue")
			}
			_ = g.RunQueued(ctx, task)
			return errBroken // the outcome is stored
		}}
		g = queued(t, countedRuns(&runs, say("gpu")), memory.New(), []graph.Option{graph.Queues(q)})
		done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
		same(t, "executions", runs.Load(), int32(1))
		same(t, "hand-outs", calls, 4)
	})
}

// TestTheFirstOutcomeOfATaskCounts hands each task out twice at the same time: rule 23.2.
func TestTheFirstOutcomeOfATaskCounts(t *testing.T) {
	var g *app
	var runs atomic.Int32
	q := &lossy{do: func(ctx context.Context, task graph.QueuedTask) error {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := g.RunQueued(ctx, task); err != nil && ctx.Err() == nil { // else the run has the outcome of the other one
					t.Errorf("run: %v", err)
				}
			})
		}
		both.Wait()
		return nil
	}}
	node := func(context.Context, work) (update, error) { return logged(fmt.Sprint("gpu ", runs.Add(1))), nil }
	g = queued(t, node, memory.New(), []graph.Option{graph.Queues(q)})
	res := done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
	if len(res.State.Log) != 3 || !strings.HasPrefix(res.State.Log[1], "gpu ") {
		t.Errorf("log: got %q, want one line of gpu", res.State.Log)
	}
}

// TestALateWorkerNeverCounts lets a worker finish after its task was given up, by a Rerun, an
// edit, a release, a deletion, or a commit. It tests rule 23.3.
func TestALateWorkerNeverCounts(t *testing.T) {
	tests := map[string]struct {
		between func(t *testing.T, th thread)
		log     []string // of a Resume, or none
	}{
		"a rerun": {func(*testing.T, thread) {}, []string{"a", "new", "z"}},
		"an edit": {func(t *testing.T, th thread) {
			t.Helper()
			if _, err := th.UpdateState(t.Context(), logged("edited")); err != nil {
				t.Fatal(err)
			}
		}, []string{"a", "edited", "new", "z"}},
		"a release": {func(t *testing.T, th thread) {
			t.Helper()
			if _, err := th.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, nil},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g *app
				var late graph.QueuedTask
				again, line := false, "old"
				q := &lossy{do: func(ctx context.Context, task graph.QueuedTask) error {
					if !again {
						late = task
						<-ctx.Done()
						return ctx.Err()
					}
					line = "old" // the late worker ends first
					if err := g.RunQueued(context.Background(), late); err != nil {
						t.Errorf("late: %v", err)
					}
					line = "new"
					return g.RunQueued(ctx, task)
				}}
				s := memory.New()
				g = queued(t, func(context.Context, work) (update, error) { return logged(line), nil }, s, []graph.Option{graph.Queues(q)})
				th := g.Thread("t")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := th.Invoke(ctx, input); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v, want the end of the context", err)
				}
				c.between(t, th)
				if again = true; c.log == nil {
					if err := g.RunQueued(t.Context(), late); err != nil {
						t.Errorf("late: %v", err)
					}
					if err := s.Delete(t.Context(), "t"); err != nil {
						t.Fatal(err)
					}
					if err := g.RunQueued(t.Context(), late); err != nil {
						t.Errorf("late, after the deletion: %v", err)
					}
					return
				}
				var opts []graph.ResumeOption
				if name == "a rerun" {
					opts = append(opts, graph.Rerun("gpu"))
				}
				res := done(t, graph.Done)(th.Resume(t.Context(), opts...))
				same(t, "log", res.State.Log, c.log)
				if err := g.RunQueued(t.Context(), late); err != nil {
					t.Errorf("late, after the commit: %v", err)
				}
			})
		})
	}
}

// TestAnOutcomeOutlivesItsRun stores an outcome after the run that handed the task out has ended.
func TestAnOutcomeOutlivesItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		var g *app
		var late graph.QueuedTask
		q := &lossy{do: func(ctx context.Context, task graph.QueuedTask) error {
			late = task
			<-ctx.Done()
			return ctx.Err()
		}}
		g = queued(t, countedRuns(&runs, say("gpu")), memory.New(), []graph.Option{graph.Queues(q)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := g.Thread("t").Invoke(ctx, input); err == nil {
			t.Fatal("the run ended without an error")
		}
		if err := g.RunQueued(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
		same(t, "executions", runs.Load(), int32(1))
	})
}

func TestCompileRefusesAQueueThatCannotWork(t *testing.T) {
	child := func() *app {
		b := newWork()
		b.Node("inner", say("inner"), graph.Queue("gpu"))
		return compile(t, line(b, "inner"), graph.SubgraphOnly())
	}
	tests := map[string]struct {
		build func(b *graph.Builder[work, update])
		opts  []graph.Option
		want  string
	}{
		"no saver": {func(b *graph.Builder[work, update]) { b.Node("n", say("n"), graph.Queue("gpu")) }, nil, "needs a Saver"},
		"async": {func(b *graph.Builder[work, update]) { b.Node("n", say("n"), graph.Queue("gpu")) },
			[]graph.Option{graph.Saver(memory.New()), graph.Async}, "needs the durability Sync"},
		"no name": {func(b *graph.Builder[work, update]) { b.Node("n", say("n"), graph.Queue("")) },
			[]graph.Option{graph.Saver(memory.New())}, "has no name"},
		"two types alike": {func(b *graph.Builder[work, update]) {
			b.Node("n", say("n"), graph.Queue("gpu"), graph.Emits[wire.String](), graph.Emits[wire.String]())
		},
			[]graph.Option{graph.Saver(memory.New())}, "name two types alike"},
		"kept updates": {func(b *graph.Builder[work, update]) {
			b.Node("n", say("n"), graph.Queue("gpu"), graph.KeepUpdateOnError())
		},
			[]graph.Option{graph.Saver(memory.New())}, "KeepUpdateOnError"},
		"no saver around a subgraph": {func(b *graph.Builder[work, update]) { b.Subgraph("n", child()) }, nil, "needs a Saver"},
		"async around a subgraph": {func(b *graph.Builder[work, update]) { b.Subgraph("n", child()) },
			[]graph.Option{graph.Saver(memory.New()), graph.Async}, "needs the durability Sync"},
		"queues of a subgraph": {func(b *graph.Builder[work, update]) { b.Node("n", say("n"), graph.Queue("gpu")) },
			[]graph.Option{graph.SubgraphOnly(), graph.Queues(new(graph.LocalQueue))}, "pass them to the graph of the thread"},
		"queues for nothing": {func(b *graph.Builder[work, update]) { b.Node("n", say("n")) },
			[]graph.Option{graph.Queues(new(graph.LocalQueue))}, "nothing to hand out"},
	}
	for name, c := range tests {
		b := newWork()
		c.build(b)
		_, err := line(b, "n").Compile(c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a fault with %q", name, err, c.want)
		}
	}
	if err := child().ServeQueue(t.Context(), graph.Serving{Queue: "gpu", Slots: 1}); err == nil || !strings.Contains(err.Error(), "SubgraphOnly") {
		t.Errorf("to serve a queue of a subgraph: got %v, want an error that names SubgraphOnly", err)
	}
	g := queued(t, say("gpu"), memory.New(), nil)
	if _, err := g.Thread("t").Invoke(t.Context(), input, graph.OnExit); err == nil || !strings.Contains(err.Error(), "needs the durability Sync") {
		t.Errorf("a run with OnExit: got %v, want an error that names Sync", err)
	}
}
