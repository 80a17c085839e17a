package enginetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// QueuePlace describes a server, or whatever carries tasks of queues between processes.
type QueuePlace struct {
	// Open returns a queue on the place, as another process has it. The suite calls Open several
	// times. A worker that shows no sign of life must be taken for dead only after the test. Use
	// tb.Cleanup to close a queue.
	Open func(tb testing.TB) graph.TaskQueue

	// HandOuts returns a function that waits for the next call of Do whose task the server has,
	// from the call of HandOuts on.
	HandOuts func(tb testing.TB) (next func())

	// Patience is how long a test waits for a queue before it fails. The default is five minutes,
	// for busy machines.
	Patience time.Duration
}

// patience returns p.Patience or the default.
func (p QueuePlace) patience() time.Duration { return cmp.Or(p.Patience, 5*time.Minute) }

// RunQueue tests a graph.TaskQueue that hands tasks to other processes, with one subtest for each
// promise. Each subtest calls open, which must return a new QueuePlace. Two of them may share a
// server if they share no tasks.
func RunQueue(t *testing.T, open func(tb testing.TB) QueuePlace) {
	t.Helper()
	for _, c := range QueueCases() {
		t.Run(c.Name, func(t *testing.T) { c.Test(t, open(t)) })
	}
}

// QueueCase is one promise of a queue with its test.
type QueueCase struct {
	Name string
	Test func(tb testing.TB, place QueuePlace)
}

// QueueCases returns the cases that RunQueue runs.
func QueueCases() []QueueCase {
	return []QueueCase{
		{"Do returns when a worker of another process has returned", testDoReturns},
		{"several calls for one task run it once", testDoTogether},
		{"each execution of a task is a task of its own", testExecutions},
		{"a copy of a thread has tasks of its own", testCopies},
		{"names of graphs, queues and tasks are any bytes", testQueueNames},
		{"a worker holds at most its slots", testSlots},
		{"a task whose worker returns an error is handed out again", testWorkerFails},
		{"a task whose worker ends the goroutine is handed out again", testWorkerExits},
		{"a worker that leaves finishes its tasks", testWorkerFinishes},
		{"a worker that leaves returns tasks without an outcome", testWorkerLeaves},
		{"Do ends with its context and leaves the task", testDoEnds},
	}
}

// newTask returns a task of the queue gpu of the graph g.
func newTask(tb testing.TB, name string) graph.QueuedTask {
	tb.Helper()
	base, err := checkpoint.NewID()
	if err != nil {
		tb.Fatal(err)
	}
	return graph.QueuedTask{
		Queue: "gpu", Graph: "g", Thread: "t", At: base, Base: base, Node: "n", Task: name, Execution: "0.0.1", Round: 2, Attempt: 3,
	}
}

// do calls Do, whose result is sent.
func do(ctx context.Context, q graph.TaskQueue, t graph.QueuedTask) <-chan error {
	done := make(chan error, 1)
	go func() { done <- q.Do(ctx, t) }()
	return done
}

// serve calls Serve until the test ends or the returned function is called, which returns the
// error of Serve.
func serve(
	tb testing.TB, p QueuePlace, q graph.TaskQueue, graphName, queue string, slots int, run func(context.Context, graph.QueuedTask) error,
) (stop func() error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Serve(ctx, graphName, queue, slots, run) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(p.patience()):
			tb.Errorf("Serve has not returned %s after the end of its context", p.patience())
			return nil
		}
	})
	tb.Cleanup(func() { _ = stop() })
	return stop
}

// receive waits for a value.
func receive[V any](tb testing.TB, p QueuePlace, what string, c <-chan V) (v V) {
	tb.Helper()
	select {
	case v = <-c:
	case <-time.After(p.patience()):
		tb.Fatalf("not so after %s: %s", p.patience(), what)
	}
	return v
}

// wait waits for the ends of calls of Do, and reports their errors.
func wait(tb testing.TB, p QueuePlace, calls ...<-chan error) {
	tb.Helper()
	for _, done := range calls {
		if err := receive(tb, p, "Do has returned", done); err != nil {
			tb.Errorf("Do: %v", err)
		}
	}
}

// unfinished fails the test if a call of Do has returned.
func unfinished(tb testing.TB, done <-chan error) {
	tb.Helper()
	select {
	case err := <-done:
		tb.Fatalf("Do returned %v before the worker", err)
	default:
	}
}

// holding is a worker that keeps some tasks until it may leave them.
type holding struct {
	held  chan graph.QueuedTask
	leave func()
}

// hold starts a worker that keeps the tasks that are selected.
func hold(tb testing.TB, p QueuePlace, q graph.TaskQueue, slots int, selects func(t graph.QueuedTask) bool) holding {
	tb.Helper()
	left := make(chan struct{})
	h := holding{held: make(chan graph.QueuedTask, 100), leave: sync.OnceFunc(func() { close(left) })}
	serve(tb, p, q, "g", "gpu", slots, func(_ context.Context, t graph.QueuedTask) error {
		if selects(t) {
			h.held <- t
			<-left
		}
		return nil
	})
	tb.Cleanup(h.leave)
	return h
}

func testDoReturns(tb testing.TB, p QueuePlace) {
	tb.Helper()
	want := newTask(tb, "a")
	q := p.Open(tb)
	done := do(tb.Context(), q, want)
	h := hold(tb, p, p.Open(tb), 2, func(t graph.QueuedTask) bool { return t.Task == "a" })
	if got := receive(tb, p, "a worker has the task", h.held); got != want {
		tb.Errorf("the worker got %+v, want %+v", got, want)
	}
	wait(tb, p, do(tb.Context(), q, newTask(tb, "b"))) // the end of another task is not that of a
	unfinished(tb, done)
	h.leave()
	wait(tb, p, done)
}

func testDoTogether(tb testing.TB, p QueuePlace) {
	tb.Helper()
	a, b := p.Open(tb), p.Open(tb)
	next := p.HandOuts(tb)
	task := newTask(tb, "a")
	first := do(tb.Context(), a, task)
	next()
	second := do(tb.Context(), b, task)
	next()
	runs := make(chan struct{}, 10)
	serve(tb, p, p.Open(tb), "g", "gpu", 2, func(context.Context, graph.QueuedTask) error {
		runs <- struct{}{}
		return nil
	})
	wait(tb, p, first, second)
	if len(runs) != 1 {
		tb.Errorf("got %d runs of the task, want 1", len(runs))
	}
	// A task that has ended can be handed out again immediately.
	wait(tb, p, do(tb.Context(), a, task))
	if len(runs) != 2 {
		tb.Errorf("got %d runs of the task, want 2", len(runs))
	}
}

// testExecutions has a worker that still runs an execution of a task when the next one is handed
// out, for example after a Rerun. The late end of the first is not that of the second.
func testExecutions(tb testing.TB, p QueuePlace) {
	tb.Helper()
	q := p.Open(tb)
	task := newTask(tb, "a")
	again := task
	again.Execution = "1.0.1"
	late, next := do(tb.Context(), q, task), do(tb.Context(), q, again)
	old := hold(tb, p, p.Open(tb), 1, func(t graph.QueuedTask) bool { return true })
	got := map[string]holding{receive(tb, p, "a worker has an execution", old.held).Execution: old}
	other := hold(tb, p, p.Open(tb), 1, func(t graph.QueuedTask) bool { return true })
	got[receive(tb, p, "a worker has the other execution", other.held).Execution] = other
	if len(got) != 2 {
		tb.Fatal("two workers run one execution")
	}
	got[task.Execution].leave()
	wait(tb, p, late)
	unfinished(tb, next)
	got[again.Execution].leave()
	wait(tb, p, next)
}

func testCopies(tb testing.TB, p QueuePlace) {
	tb.Helper()
	q := p.Open(tb)
	next := p.HandOuts(tb)
	task := newTask(tb, "a")
	copied := task
	copied.Thread = "copy of t"
	first, second := do(tb.Context(), q, task), do(tb.Context(), q, copied)
	next()
	next()
	threads := make(chan string, 10)
	serve(tb, p, q, "g", "gpu", 1, func(_ context.Context, got graph.QueuedTask) error {
		threads <- got.Thread
		return nil
	})
	wait(tb, p, first, second)
	got := []string{receive(tb, p, "a worker has had a task", threads), receive(tb, p, "a worker has had both tasks", threads)}
	if slices.Sort(got); !slices.Equal(got, []string{"copy of t", "t"}) {
		tb.Errorf("got tasks of %v, want of both threads", got)
	}
}

func testQueueNames(tb testing.TB, p QueuePlace) {
	tb.Helper()
	q := p.Open(tb)
	names := []string{"", "a", "ab", "a.b", "*", ">", "$JS.API", "/_sys/a/0", "a b\r\nPUB x 0\r\n", "\xff\x00\xfe", "ü", strings.Repeat("x", 5000)}
	for i, name := range names {
		got, wrong := make(chan graph.QueuedTask, 10), make(chan graph.QueuedTask, 10)
		var stops []func() error
		listen := func(name, queue string, c chan<- graph.QueuedTask) {
			stops = append(stops, serve(tb, p, q, name, queue, 1, func(_ context.Context, task graph.QueuedTask) error {
				c <- task
				return nil
			}))
		}
		listen(name+"b", name, wrong) // "a" and "ba" is not "ab" and "a"
		for _, other := range names[i+1:] {
			listen(name, "b"+other, wrong)
		}
		listen(name, "b"+name, got)
		want := newTask(tb, name)
		want.Graph, want.Queue, want.Thread, want.Execution, want.Node = name, "b"+name, name, name, graph.ID(name)
		if err := receive(tb, p, "Do has returned", do(tb.Context(), q, want)); err != nil {
			tb.Errorf("names %.20q: %v", name, err)
		}
		if task := receive(tb, p, "a worker has had the task", got); task != want {
			tb.Errorf("got %.200q, want %.200q", fmt.Sprint(task), fmt.Sprint(want))
		}
		for _, stop := range stops {
			_ = stop()
		}
		if len(got)+len(wrong) > 0 {
			tb.Errorf("names %.20q: another queue got the task, too", name)
		}
	}
}

func testSlots(tb testing.TB, p QueuePlace) {
	tb.Helper()
	q := p.Open(tb)
	done := make(map[string]<-chan error)
	for i := range 20 {
		name := fmt.Sprint(i)
		done[name] = do(tb.Context(), q, newTask(tb, name))
	}
	h := hold(tb, p, p.Open(tb), 3, func(graph.QueuedTask) bool { return true })
	var last []<-chan error
	for range 3 {
		name := receive(tb, p, "a worker with 3 slots has 3 tasks", h.held).Task
		last = append(last, done[name])
		delete(done, name)
	}
	serve(tb, p, q, "g", "gpu", 1, returnNil)
	for _, others := range done {
		wait(tb, p, others)
	}
	if len(h.held) > 0 {
		tb.Errorf("a worker with 3 slots ran %d tasks at the same time", 3+len(h.held))
	}
	h.leave()
	wait(tb, p, last...)
}

func returnNil(context.Context, graph.QueuedTask) error { return nil }

func testWorkerFails(tb testing.TB, p QueuePlace) {
	tb.Helper()
	testFault(tb, p, func() error { return errors.New("the saver is down") })
}

func testWorkerExits(tb testing.TB, p QueuePlace) {
	tb.Helper()
	testFault(tb, p, func() error {
		runtime.Goexit()
		return nil
	})
}

// testFault has a worker with a fault in the first two runs of a task.
func testFault(tb testing.TB, p QueuePlace, fault func() error) {
	tb.Helper()
	q := p.Open(tb)
	runs := make(chan struct{}, 10)
	serve(tb, p, q, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
		if runs <- struct{}{}; len(runs) < 3 {
			return fault()
		}
		return nil
	})
	wait(tb, p, do(tb.Context(), q, newTask(tb, "a")))
	if len(runs) != 3 {
		tb.Errorf("got %d runs, want 3", len(runs))
	}
}

func testWorkerFinishes(tb testing.TB, p QueuePlace) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	began, left, stopped := make(chan struct{}, 10), make(chan struct{}), make(chan error, 1)
	leave := sync.OnceFunc(func() { close(left) })
	tb.Cleanup(leave)
	defer cancel()
	var finished atomic.Bool
	w := p.Open(tb)
	go func() {
		stopped <- w.Serve(ctx, "g", "gpu", 1, func(ctx context.Context, _ graph.QueuedTask) error {
			began <- struct{}{}
			<-left
			finished.Store(true)
			return ctx.Err()
		})
	}()
	done := do(tb.Context(), p.Open(tb), newTask(tb, "a"))
	receive(tb, p, "a worker has the task", began)
	cancel()
	q := p.Open(tb)
	var again atomic.Bool
	serve(tb, p, q, "g", "gpu", 1, func(_ context.Context, t graph.QueuedTask) error {
		if t.Task == "a" {
			again.Store(true)
		}
		return nil
	})
	wait(tb, p, do(tb.Context(), q, newTask(tb, "b"))) // meanwhile, the first worker may leave
	select {
	case err := <-stopped:
		tb.Fatalf("Serve returned %v before its task", err)
	default:
	}
	leave()
	if err := receive(tb, p, "Serve has returned", stopped); !errors.Is(err, context.Canceled) || !finished.Load() {
		tb.Errorf("got %v and a finished task %v, want the end of the context after the task", err, finished.Load())
	}
	if wait(tb, p, done); again.Load() {
		tb.Error("another worker got the task, so the context of the task has ended")
	}
}

// testWorkerLeaves has a place where no worker is taken for dead, so another one gets the task
// only because the first gives it back.
func testWorkerLeaves(tb testing.TB, p QueuePlace) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	w, stopped := p.Open(tb), make(chan error, 1)
	go func() {
		stopped <- w.Serve(ctx, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
			cancel()
			return errors.New("cancelled")
		})
	}()
	q := p.Open(tb)
	done := do(tb.Context(), q, newTask(tb, "b"))
	if err := receive(tb, p, "Serve has returned", stopped); !errors.Is(err, context.Canceled) {
		tb.Errorf("got %v, want the end of the context", err)
	}
	runs := counted(tb, p, q)
	wait(tb, p, done)
	if len(runs) != 1 {
		tb.Errorf("got %d runs by another worker, want 1", len(runs))
	}
}

// counted starts a worker. The returned channel gets a value for each of its runs.
func counted(tb testing.TB, p QueuePlace, q graph.TaskQueue) <-chan struct{} {
	tb.Helper()
	runs := make(chan struct{}, 100)
	serve(tb, p, q, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
		runs <- struct{}{}
		return nil
	})
	return runs
}

func testDoEnds(tb testing.TB, p QueuePlace) {
	tb.Helper()
	q := p.Open(tb)
	next := p.HandOuts(tb)
	task := newTask(tb, "a")
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	first := do(ctx, q, task)
	next()
	second := do(tb.Context(), p.Open(tb), task)
	next()
	cancel()
	if err := receive(tb, p, "Do has returned", first); !errors.Is(err, context.Canceled) {
		tb.Errorf("got %v, want the end of the context", err)
	}
	if err := receive(tb, p, "Do has returned", do(ctx, q, task)); !errors.Is(err, context.Canceled) {
		tb.Errorf("after the end: got %v, want the end of the context", err)
	}
	runs := counted(tb, p, q)
	wait(tb, p, second)
	if len(runs) != 1 {
		tb.Errorf("got %d runs, want 1", len(runs))
	}
}
