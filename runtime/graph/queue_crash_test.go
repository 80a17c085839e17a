package graph_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
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

// Post and News are calls at which a process can die, too.
func (c *crashing) Post(ctx context.Context, posts ...checkpoint.Post) (done []checkpoint.Posted, err error) {
	err = c.call(func() error { done, err = c.Saver.Post(ctx, posts...); return err })
	return done, err
}

func (c *crashing) News(ctx context.Context, threads []string) (found []checkpoint.News, err error) {
	err = c.call(func() error { found, err = c.Saver.News(ctx, threads); return err })
	return found, err
}

// execution matches the names of the outcomes of executions.
var execution = regexp.MustCompile(`^\d+/\d+\.\d+$`)

// executions counts the executions of tasks, and those after the outcome of the task was stored.
type executions struct {
	checkpoint.Saver
	mu    sync.Mutex
	ran   map[string]int  // by task
	over  map[string]bool // by task: it succeeded
	again int
}

func newExecutions(s checkpoint.Saver) *executions {
	return &executions{Saver: s, ran: make(map[string]int), over: make(map[string]bool)}
}

func (e *executions) begin(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ran[key]++; e.over[key] {
		e.again++
	}
}

func (e *executions) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	done, err := e.Saver.Post(ctx, posts...)
	for i := range done {
		for _, w := range posts[i].Outcomes {
			if execution.MatchString(w.Name) && done[i].Err == nil {
				e.mu.Lock()
				e.over[w.Task] = true
				e.mu.Unlock()
			}
		}
	}
	return done, err
}

// scattered sends n inputs to a node that workers of a queue run, and joins them.
func scattered(
	t *testing.T, n int, s checkpoint.Saver, node func(context.Context, work, wire.String) (update, error), more ...graph.NodeOption,
) *app {
	t.Helper()
	b := newWork()
	var each graph.Sender[wire.String]
	b.Node("plan", say("plan"))
	each = graph.TaskNode(b, "each", node, append(more, graph.Queue("gpu"))...)
	b.Node("end", say("end"))
	b.Edge(graph.Start, "plan")
	b.Route("plan", func(context.Context, work) (graph.Next, error) {
		next := each.Send(wire.String(fmt.Sprintf("%05d", 0)))
		for i := 1; i < n; i++ {
			next.Add(each.Send(wire.String(fmt.Sprintf("%05d", i))))
		}
		return next, nil
	}, "each")
	b.Edge("each", "end")
	b.Edge("end", graph.End)
	return compile(t, b, graph.Saver(s), graph.Lease(time.Hour))
}

// TestACrashOfTheHolderLosesNoOutcome kills the process of the thread at each of its calls of the
// saver, before and after the call. Workers live on.
func TestACrashOfTheHolderLosesNoOutcome(t *testing.T) {
	const tasks = 3
	want := []string{"plan", "00000", "00001", "00002", "end"}
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			s := newExecutions(memory.New())
			node := func(ctx context.Context, _ work, name wire.String) (update, error) {
				s.begin(graph.CurrentTask(ctx).Key)
				return logged(string(name)), nil
			}
			p := serving(scattered(t, tasks, s, node), s)
			dying := &crashing{Saver: s, left: at, after: after}
			_, err := p.invoke(t, scattered(t, tasks, dying, node).Thread("t"))
			th := scattered(t, tasks, s, node).Thread("t")
			res, again := p.resume(t, th, graph.TakeOver())
			if errors.Is(again, checkpoint.ErrNotFound) {
				res, again = p.invoke(t, th)
			}
			if again != nil || res.Status != graph.Done {
				t.Fatalf("crash at call %d, after %t: got %v and %v, want the run done", at, after, res.Status, again)
			}
			same(t, fmt.Sprintf("log after a crash at call %d, after %t", at, after), res.State.Log, want)
			if s.again > 0 {
				t.Errorf("crash at call %d, after %t: %d executions of tasks whose outcome was stored, want none", at, after, s.again)
			}
			if err == nil {
				break // the run ended before the crash
			}
		}
	}
}

// TestACrashOfAWorkerCostsItsTask kills the worker at each of its calls of the saver. Another one
// runs the task again, with the same key, and does not repeat its durable calls.
func TestACrashOfAWorkerCostsItsTask(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			s := newExecutions(memory.New())
			calls := 0
			node := func(ctx context.Context, _ work, name wire.String) (update, error) {
				s.begin(graph.CurrentTask(ctx).Key)
				_, err := graph.Do(ctx, "charge", func(context.Context) (wire.String, error) {
					calls++
					return "charged", nil
				})
				return logged(string(name)), err
			}
			var dies, lives *app
			dying := &crashing{Saver: s, left: at, after: after}
			handed := 0
			p := &pool{s: s, run: func(ctx context.Context, task []byte) error {
				if handed++; handed == 1 {
					return dies.RunQueued(ctx, task, false)
				}
				return lives.RunQueued(ctx, task, false)
			}}
			dies, lives = scattered(t, 1, dying, node), scattered(t, 1, s, node)
			res := done(t, graph.Done)(p.invoke(t, lives.Thread("t")))
			same(t, "log", res.State.Log, []string{"plan", "00000", "end"})
			if len(s.ran) != 1 {
				t.Errorf("crash at call %d, after %t: got the keys %v, want one", at, after, s.ran)
			}
			if calls > 1 && at != 3 && !(at == 4 && !after) { // the result of the call was lost with the worker
				t.Errorf("crash at call %d, after %t: the durable call was made %d times", at, after, calls)
			}
			if handed == 1 {
				break
			}
		}
	}
}

// TestManySendsOverSeveralWorkersCommitOnce runs 10,000 tasks by workers that hand back some of
// their tasks, and sometimes run a task that another one has run.
func TestManySendsOverSeveralWorkersCommitOnce(t *testing.T) {
	n := 3_000
	switch _, soak := os.LookupEnv("GRAPHGEN_SOAK"); {
	case soak:
		n = 10_000
	case testing.Short():
		n = 1_000
	}
	s := memory.New()
	g := scattered(t, n, s, func(_ context.Context, _ work, name wire.String) (update, error) { return logged(string(name)), nil })
	var mu sync.Mutex
	count, twice := 0, 0
	p := &pool{s: s, run: func(ctx context.Context, task []byte) error {
		mu.Lock()
		count++
		number := count
		mu.Unlock()
		if number%97 == 0 {
			return errBroken // the worker died with the task
		}
		err := g.RunQueued(ctx, task, false)
		if number%31 == 0 && err == nil {
			mu.Lock()
			twice++
			mu.Unlock()
			err = g.RunQueued(ctx, task, false)
		}
		return err
	}}
	res := done(t, graph.Done)(p.invoke(t, g.Thread("t")))
	want := make([]string, 0, n+2)
	want = append(want, "plan")
	for i := range n {
		want = append(want, fmt.Sprintf("%05d", i))
	}
	same(t, "log", res.State.Log, append(want, "end"))
	if twice == 0 || count <= n {
		t.Errorf("got %d hand-outs of %d tasks, %d of them run twice; want some of both", count, n, twice)
	}
}

// readings counts the calls of a saver, and the writes and due tasks that they read.
type readings struct {
	checkpoint.Saver
	loads, calls, read atomic.Int64
}

func (r *readings) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := r.Saver.Load(ctx, p)
	r.loads.Add(1)
	r.read.Add(int64(len(c.Writes) + len(c.Due)))
	return c, err
}

func (r *readings) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	r.calls.Add(1)
	return r.Saver.News(ctx, threads)
}

func (r *readings) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	r.calls.Add(1)
	return r.Saver.Post(ctx, posts...)
}

// TestManySendsCostAWorkerNoMoreEach counts what a worker reads. It loads once after each run that
// hands tasks out, however many slots it has. Each task takes two calls of the saver at most.
func TestManySendsCostAWorkerNoMoreEach(t *testing.T) {
	const n, slots = 1_000, 4
	for _, retried := range []bool{false, true} {
		s := memory.New()
		node := func(ctx context.Context, _ work, name wire.String) (update, error) {
			if retried && graph.CurrentTask(ctx).Attempt == 1 {
				return update{}, errBroken
			}
			return logged(string(name)), nil
		}
		again := graph.Retry(graph.RetryPolicy{Attempts: 2, Base: time.Nanosecond})
		counted := &readings{Saver: s}
		free, worker := make(chan struct{}, slots), scattered(t, n, counted, node, again)
		p := &pool{s: s, run: func(ctx context.Context, task []byte) error {
			free <- struct{}{}
			defer func() { <-free }()
			return worker.RunQueued(ctx, task, false)
		}}
		done(t, graph.Done)(p.invoke(t, scattered(t, n, s, node, again).Thread("t")))
		executions, loadsMost, most := int64(n), int64(1), int64(2*n) // each task is due, and is handed out
		if retried {
			executions, loadsMost = 2*n, 2
			most += 4 * n // then it also has an outcome, and is handed out again
		}
		loads, calls, read := counted.loads.Load(), counted.calls.Load(), counted.read.Load()
		if loads > loadsMost || calls > 2*executions || read > most {
			t.Errorf("retried %t: %d executions: %d loads, %d other calls, %d tasks and writes read; want at most %d, %d and %d",
				retried, executions, loads, calls, read, loadsMost, 2*executions, most)
		}
	}
}

// slowCalls is a saver whose News and Post take a millisecond.
type slowCalls struct{ *readings }

func (s slowCalls) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	time.Sleep(time.Millisecond)
	return s.readings.News(ctx, threads)
}

func (s slowCalls) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	time.Sleep(time.Millisecond)
	return s.readings.Post(ctx, posts...)
}

// TestTasksOfAThreadShareTheCallsOfTheirWorker runs 32 tasks of one thread at the same time. The
// first one asks for news and stores its outcome alone. The others do it while a call is in
// progress, and share the next one. If a shared call fails, each of them makes its own.
func TestTasksOfAThreadShareTheCallsOfTheirWorker(t *testing.T) {
	const n = 32
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			node := func(_ context.Context, _ work, name wire.String) (update, error) { return logged(string(name)), nil }
			counted := &readings{Saver: s}
			most := int64(2 + 3)
			if fails {
				counted.Saver, most = failsTogether{s}, 2+2+n
			}
			worker := scattered(t, n, slowCalls{counted}, node)
			p := &pool{s: s, run: func(ctx context.Context, task []byte) error { return worker.RunQueued(ctx, task, false) }}
			res := done(t, graph.Done)(p.invoke(t, scattered(t, n, s, node).Thread("t")))
			same(t, "log", len(res.State.Log), n+2)
			if calls := counted.calls.Load(); calls > most {
				t.Errorf("fails %t: %d tasks took %d calls of News and Post; want at most %d", fails, n, calls, most)
			}
		})
	}
}

// failsTogether is a saver that refuses the outcomes of several tasks in one Post.
type failsTogether struct{ checkpoint.Saver }

func (s failsTogether) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	if len(posts[0].Outcomes) > 1 {
		return nil, errBroken
	}
	return s.Saver.Post(ctx, posts...)
}

// TestATaskOfADeadWorkerDoesNotRunAgain hands a task whose outcome is stored to a worker that has
// kept the superstep before.
func TestATaskOfADeadWorkerDoesNotRunAgain(t *testing.T) {
	var ran atomic.Int32
	s := memory.New()
	node := countedRuns(&ran, say("gpu"))
	build := func() *app {
		return scattered(t, 2, s, func(ctx context.Context, w work, _ wire.String) (update, error) { return node(ctx, w) })
	}
	dies, lives := build(), build()
	done(t, graph.Waiting)(dies.Thread("t").Invoke(t.Context(), input))
	tasks := serving(dies, s).waiting(t)
	for _, err := range []error{
		lives.RunQueued(t.Context(), tasks[0].payload, false),
		dies.RunQueued(t.Context(), tasks[1].payload, false),
		lives.RunQueued(t.Context(), tasks[1].payload, true),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	same(t, "executions", ran.Load(), int32(2))
}

// TestAKeptSuperstepDoesNotRunATaskAgain hands out a task again after its outcome is stored, after
// the commit, and after the release of the thread.
func TestAKeptSuperstepDoesNotRunATaskAgain(t *testing.T) {
	var mu sync.Mutex
	ran := make(map[string]int)
	node := func(_ context.Context, _ work, name wire.String) (update, error) {
		mu.Lock()
		defer mu.Unlock()
		ran[string(name)]++
		return logged(string(name)), nil
	}
	s := memory.New()
	g := scattered(t, 3, s, node)
	run := func(task []byte) {
		t.Helper()
		if err := g.RunQueued(t.Context(), task, false); err != nil {
			t.Errorf("run: %v", err)
		}
	}
	th := g.Thread("t")
	done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	tasks := serving(g, s).waiting(t)
	first := tasks[0].payload
	for _, task := range tasks {
		run(task.payload)
		run(first)
	}
	done(t, graph.Done)(th.Resume(t.Context()))
	run(first)
	if _, err := th.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(first)
	same(t, "executions", ran, map[string]int{"00000": 1, "00001": 1, "00002": 1})
}
