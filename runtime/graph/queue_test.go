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
		s := memory.New()
		g := queued(t, func(ctx context.Context, s work) (update, error) {
			task = graph.CurrentTask(ctx)
			return logged("gpu after " + strings.Join(s.Log, "+")), nil
		}, s, nil)
		th := g.Thread("t")
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		same(t, "what is due", res.Next, []graph.ID{"gpu"})
		since := time.Now()
		time.Sleep(time.Hour) // no worker serves the queue
		snap := snapshot(t, th)
		if of := snap.Tasks[0]; of.Queue != "gpu" || !of.Queued.Equal(since) {
			t.Errorf("got a task that waits for queue %q since %s, want gpu since %s", of.Queue, of.Queued, since)
		}
		res = done(t, graph.Done)(serving(g, s).resume(t, th))
		same(t, "log", res.State.Log, []string{"a", "gpu after a", "z"})
		if task.Key == "" || task.Node != "gpu" || task.Thread != "t" || task.Attempt != 1 || task.Step != 3 {
			t.Errorf("task: got %+v, want attempt 1 of gpu in step 3 of thread t, with a key", task)
		}
	})
}

func TestRunWithoutAThreadRunsTheNodeOfAQueueItself(t *testing.T) {
	res := done(t, graph.Done)(queued(t, say("gpu"), memory.New(), nil).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"a", "gpu", "z"})
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
		s := memory.New()
		g := queued(t, node, s, nil, approve)
		p := serving(g, s)
		res := done(t, graph.Waiting)(p.invoke(t, g.Thread("t")))
		if len(res.Questions) != 1 || res.Questions[0].Summary != "for Ada" {
			t.Fatalf("questions: got %+v, want one with the summary", res.Questions)
		}
		res = done(t, graph.Done)(p.resume(t, g.Thread("t"), approve.Answer(res.Questions[0], true)))
		same(t, "log", res.State.Log, []string{"a", "answered true", "z"})
		same(t, "executions", runs.Load(), int32(2))

		done(t, graph.Waiting)(p.invoke(t, g.Thread("expires")))
		time.Sleep(2 * time.Hour)
		res = done(t, graph.Done)(p.resume(t, g.Thread("expires")))
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
		s := memory.New()
		g := queued(t, node, s, nil, policy)
		p := serving(g, s)
		began := time.Now()
		done(t, graph.Done)(p.invoke(t, g.Thread("t")))
		same(t, "attempts", attempts, []int{1, 2, 3})
		same(t, "pauses", time.Since(began), 3*time.Second)

		attempts, fails = nil, 3
		_, err := p.invoke(t, g.Thread("fails"))
		var failed *graph.QueueError
		var node3 *graph.NodeError
		if !errors.As(err, &failed) || failed.Text != "quota" || failed.Queue != "gpu" || !errors.As(err, &node3) || node3.Attempt != 3 {
			t.Errorf("got %v, want a *QueueError of attempt 3", err)
		}
		done(t, graph.Done)(p.resume(t, g.Thread("fails")))
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
		s := memory.New()
		g := queued(t, node, s, nil, graph.Retry(graph.RetryPolicy{Attempts: 2}))
		p := serving(g, s)
		res := done(t, graph.Waiting)(p.invoke(t, g.Thread("t")))
		same(t, "timers", len(res.Timers), 1)
		time.Sleep(time.Hour)
		done(t, graph.Done)(p.resume(t, g.Thread("t")))
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
				s := memory.New()
				g := queued(t, c.node, s, nil, graph.Timeout(time.Minute))
				if _, err := serving(g, s).invoke(t, g.Thread("t")); !c.is(err) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestATaskWhoseRunFailsRunsAgain: a worker fails before its task and after it.
func TestATaskWhoseRunFailsRunsAgain(t *testing.T) {
	var runs atomic.Int32
	calls, s := 0, memory.New()
	g := queued(t, countedRuns(&runs, say("gpu")), s, nil)
	p := &pool{s: s, run: func(ctx context.Context, task []byte) error {
		if calls++; calls == 1 {
			return errBroken // nothing ran
		}
		if err := g.RunQueued(ctx, task, false); err != nil || calls == 2 {
			return errBroken // the outcome is stored
		}
		return nil
	}}
	done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
	for range 3 {
		p.work(t)
	}
	done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
	same(t, "executions", runs.Load(), int32(1))
	same(t, "hand-outs", calls, 3)
}

// TestTheFirstOutcomeOfATaskCounts runs each task twice at the same time: rule 23.2.
func TestTheFirstOutcomeOfATaskCounts(t *testing.T) {
	var runs atomic.Int32
	s := memory.New()
	node := func(context.Context, work) (update, error) { return logged(fmt.Sprint("gpu ", runs.Add(1))), nil }
	g := queued(t, node, s, nil)
	p := &pool{s: s, run: func(ctx context.Context, task []byte) error {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := g.RunQueued(ctx, task, false); err != nil {
					t.Errorf("run: %v", err)
				}
			})
		}
		both.Wait()
		return nil
	}}
	res := done(t, graph.Done)(p.invoke(t, g.Thread("t")))
	if len(res.State.Log) != 3 || !strings.HasPrefix(res.State.Log[1], "gpu ") {
		t.Errorf("log: got %q, want one line of gpu", res.State.Log)
	}
}

// dueNow fails unless workers may take the thread.
func dueNow(t *testing.T, th thread) {
	t.Helper()
	if d, err := th.Describe(t.Context()); err != nil || d.Wake.IsZero() || d.Wake.After(d.Now) {
		t.Errorf("got a thread that is due at %s, and %v, want one that is due now, at %s", d.Wake, err, d.Now)
	}
}

// TestALateWorkerNeverCounts lets a worker finish after its task was given up, by a Rerun, an
// edit, a release, a deletion, or a commit. It tests rule 23.3.
func TestALateWorkerNeverCounts(t *testing.T) {
	tests := map[string]struct {
		between func(t *testing.T, th thread)
		opts    []graph.ResumeOption
		log     []string // of a Resume, or none
	}{
		"a rerun": {func(*testing.T, thread) {}, []graph.ResumeOption{graph.Rerun("gpu")}, []string{"a", "new", "z"}},
		"an edit": {func(t *testing.T, th thread) {
			t.Helper()
			if _, err := th.UpdateState(t.Context(), logged("edited")); err != nil {
				t.Fatal(err)
			}
			dueNow(t, th)
		}, nil, []string{"a", "edited", "new", "z"}},
		"a release": {func(t *testing.T, th thread) {
			t.Helper()
			if _, err := th.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, nil, nil},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s, line := memory.New(), "old"
			g := queued(t, func(context.Context, work) (update, error) { return logged(line), nil }, s, nil)
			th := g.Thread("t")
			done(t, graph.Waiting)(th.Invoke(t.Context(), input))
			late := serving(g, s).waiting(t)[0]
			runLate := func(when string) {
				t.Helper()
				if err := g.RunQueued(t.Context(), late.payload, false); err != nil {
					t.Errorf("late, %s: %v", when, err)
				}
			}
			c.between(t, th)
			if c.log == nil {
				runLate("after the release")
				if err := s.Delete(t.Context(), "t"); err != nil {
					t.Fatal(err)
				}
				runLate("after the deletion")
				return
			}
			done(t, graph.Waiting)(th.Resume(t.Context(), c.opts...))
			runLate("before the other worker")
			line = "new"
			res := done(t, graph.Done)(serving(g, s).resume(t, th))
			same(t, "log", res.State.Log, c.log)
			runLate("after the commit")
		})
	}
}

// TestARaceOfQueuesHasOneWinner: the first outcome that is stored decides, and the other task
// counts no more.
func TestARaceOfQueuesHasOneWinner(t *testing.T) {
	s, b := memory.New(), newWork()
	var ran atomic.Int32
	for _, id := range []graph.ID{"one", "two"} {
		b.Node(id, countedRuns(&ran, say(string(id))), graph.Queue("gpu"))
		b.Edge(graph.Start, id)
	}
	b.Node("z", say("z"))
	b.JoinAny([]graph.ID{"one", "two"}, "z")
	b.Edge("z", graph.End)
	g := compile(t, b, graph.Saver(s))
	th := g.Thread("t")
	done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	tasks := serving(g, s).waiting(t)
	same(t, "tasks", len(tasks), 2)
	if err := g.RunQueued(t.Context(), tasks[1].payload, false); err != nil {
		t.Fatal(err)
	}
	if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Done {
		t.Fatalf("got %s, %v; want the thread done", run.Status, err)
	}
	if err := g.RunQueued(t.Context(), tasks[0].payload, false); err != nil {
		t.Fatal(err)
	}
	same(t, "executions", ran.Load(), int32(1))
	same(t, "lines of the log", len(snapshot(t, th).State.Log), 2)
}

// TestAnAttemptThatWasHandedOutIsNotPausedAgain: a run that waits for the second attempt ends. The
// next run does not pause after the first attempt again.
func TestAnAttemptThatWasHandedOutIsNotPausedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		fails := true
		g := queued(t, func(context.Context, work) (update, error) {
			if fails {
				return update{}, errBroken
			}
			return logged("gpu"), nil
		}, s, nil, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: time.Second, Jitter: func() float64 { return 1 }}))
		p, th := serving(g, s), g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		p.work(t)
		began := time.Now()
		for range 3 { // the first one pauses, and hands the second attempt out
			done(t, graph.Waiting)(th.Resume(t.Context()))
		}
		same(t, "pauses", time.Since(began), time.Second)
		same(t, "tasks", len(p.waiting(t)), 1)
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
		"kept updates": {func(b *graph.Builder[work, update]) {
			b.Node("n", say("n"), graph.Queue("gpu"), graph.KeepUpdateOnError())
		},
			[]graph.Option{graph.Saver(memory.New())}, "KeepUpdateOnError"},
		"no saver around a subgraph": {func(b *graph.Builder[work, update]) { b.Subgraph("n", child()) }, nil, "needs a Saver"},
		"async around a subgraph": {func(b *graph.Builder[work, update]) { b.Subgraph("n", child()) },
			[]graph.Option{graph.Saver(memory.New()), graph.Async}, "needs the durability Sync"},
	}
	for name, c := range tests {
		b := newWork()
		c.build(b)
		_, err := line(b, "n").Compile(c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a fault with %q", name, err, c.want)
		}
	}
	g := queued(t, say("gpu"), memory.New(), nil)
	if _, err := g.Thread("t").Invoke(t.Context(), input, graph.OnExit); err == nil || !strings.Contains(err.Error(), "needs the durability Sync") {
		t.Errorf("a run with OnExit: got %v, want an error that names Sync", err)
	}
}
