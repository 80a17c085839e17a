package enginetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

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
}

// RunQueue tests a graph.TaskQueue that hands tasks to other processes, with one subtest for each
// promise. Each subtest calls open, which must return a new QueuePlace. Two of them may share a
// server if they share no tasks.
func RunQueue(t *testing.T, open func(tb testing.TB) QueuePlace) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(tb testing.TB, p QueuePlace)
	}{
		{"Do returns when a worker of another process has returned", testDoReturns},
		{"several calls for one task run it once", testDoTogether},
		{"a copy of a thread has tasks of its own", testCopies},
		{"names of graphs, queues and tasks are any bytes", testQueueNames},
		{"a worker holds at most its slots", testSlots},
		{"a task whose worker returns an error is handed out again", testWorkerFails},
		{"a task whose worker ends the goroutine is handed out again", testWorkerExits},
		{"a worker that leaves finishes its tasks", testWorkerFinishes},
		{"a worker that leaves returns tasks without an outcome", testWorkerLeaves},
		{"Do ends with its context and leaves the task", testDoEnds},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
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
	tb testing.TB, q graph.TaskQueue, graphName, queue string, slots int, run func(context.Context, graph.QueuedTask) error,
) (stop func() error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Serve(ctx, graphName, queue, slots, run) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	tb.Cleanup(func() { _ = stop() })
	return stop
}

// wait reports an error of calls of Do.
func wait(tb testing.TB, calls ...<-chan error) {
	tb.Helper()
	for _, done := range calls {
		if err := <-done; err != nil {
			tb.Errorf("Do: %v", err)
		}
	}
}

func testDoReturns(tb testing.TB, p QueuePlace) {
	tb.Helper()
	want := newTask(tb, "a")
	began, leave := make(chan graph.QueuedTask, 1), make(chan struct{})
	done := do(tb.Context(), p.Open(tb), want)
	serve(tb, p.Open(tb), "g", "gpu", 1, func(_ context.Context, got graph.QueuedTask) error {
		began <- got
		<-leave
		return nil
	})
	if got := <-began; got != want {
		tb.Errorf("the worker got %+v, want %+v", got, want)
	}
	select {
	case err := <-done:
		tb.Fatalf("Do returned %v before the worker", err)
	default:
	}
	close(leave)
	wait(tb, done)
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
	serve(tb, p.Open(tb), "g", "gpu", 2, func(context.Context, graph.QueuedTask) error {
		runs <- struct{}{}
		return nil
	})
	wait(tb, first, second)
	if len(runs) != 1 {
		tb.Errorf("got %d runs of the task, want 1", len(runs))
	}
	// A task that has ended can be handed out again immediately.
	wait(tb, do(tb.Context(), a, task))
	if len(runs) != 2 {
		tb.Errorf("got %d runs of the task, want 2", len(runs))
	}
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
	serve(tb, q, "g", "gpu", 1, func(_ context.Context, got graph.QueuedTask) error {
		threads <- got.Thread
		return nil
	})
	wait(tb, first, second)
	if got := map[string]bool{<-threads: true, <-threads: true}; !got["t"] || !got["copy of t"] {
		tb.Errorf("got tasks of %v, want of both threads", got)
	}
}

func testQueueNames(tb testing.TB, p QueuePlace) {
	tb.Helper()
	q := p.Open(tb)
	names := []string{"", "a", "ab", "a.b", "*", ">", "$JS.API", "/_sys/a/0", "a b\r\nPUB x 0\r\n", "\xff\x00\xfe", "ü", strings.Repeat("x", 5000)}
	for i, name := range names {
		got := make(chan graph.QueuedTask, 10)
		var stops []func() error
		for _, other := range names[i:] { // "a" and "ab" is not "aa" and "b"
			stops = append(stops, serve(tb, q, name, "b"+other, 1, func(_ context.Context, task graph.QueuedTask) error {
				got <- task
				return nil
			}))
		}
		want := newTask(tb, name)
		want.Graph, want.Queue, want.Thread, want.Execution, want.Node = name, "b"+name, name, name, graph.ID(name)
		if err := q.Do(tb.Context(), want); err != nil {
			tb.Errorf("names %.20q: %v", name, err)
		}
		if task := <-got; task != want {
			tb.Errorf("got %.200q, want %.200q", fmt.Sprint(task), fmt.Sprint(want))
		}
		if len(got) > 0 {
			tb.Errorf("names %.20q: another queue got the task, too", name)
		}
		for _, stop := range stops {
			_ = stop()
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
	held, leave := make(chan string, 20), make(chan struct{})
	serve(tb, p.Open(tb), "g", "gpu", 3, func(_ context.Context, task graph.QueuedTask) error {
		held <- task.Task
		<-leave
		return nil
	})
	stuck := []string{<-held, <-held, <-held}
	serve(tb, q, "g", "gpu", 1, returnNil) // it gets all others, else this test does not end
	var last []<-chan error
	for _, name := range stuck {
		last = append(last, done[name])
		delete(done, name)
	}
	for _, others := range done {
		wait(tb, others)
	}
	if len(held) > 0 {
		tb.Errorf("a worker with 3 slots ran %d tasks at the same time", 3+len(held))
	}
	close(leave)
	wait(tb, last...)
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
	serve(tb, q, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
		if runs <- struct{}{}; len(runs) < 3 {
			return fault()
		}
		return nil
	})
	if err := q.Do(tb.Context(), newTask(tb, "a")); err != nil || len(runs) != 3 {
		tb.Errorf("got %v after %d runs, want no error after 3", err, len(runs))
	}
}

func testWorkerFinishes(tb testing.TB, p QueuePlace) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	began, leave, stopped := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	finished := false
	w := p.Open(tb)
	go func() {
		stopped <- w.Serve(ctx, "g", "gpu", 1, func(ctx context.Context, _ graph.QueuedTask) error {
			close(began)
			<-leave
			finished = true
			return ctx.Err()
		})
	}()
	done := do(tb.Context(), p.Open(tb), newTask(tb, "a"))
	<-began
	cancel()
	close(leave)
	if err := <-stopped; !errors.Is(err, context.Canceled) || !finished {
		tb.Errorf("got %v and a finished task %v, want the end of the context after the task", err, finished)
	}
	wait(tb, done) // the context of the task has not ended
}

// testWorkerLeaves has a place where no worker is taken for dead, so another one gets the task
// only because the first gives it back.
func testWorkerLeaves(tb testing.TB, p QueuePlace) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	w, stopped := p.Open(tb), make(chan error, 1)
	go func() {
		stopped <- w.Serve(ctx, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
			cancel()
			return errors.New("cancelled")
		})
	}()
	q := p.Open(tb)
	done := do(tb.Context(), q, newTask(tb, "b"))
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		tb.Errorf("got %v, want the end of the context", err)
	}
	serve(tb, q, "g", "gpu", 1, returnNil)
	wait(tb, done)
}

func testDoEnds(tb testing.TB, p QueuePlace) {
	tb.Helper()
	q := p.Open(tb)
	next := p.HandOuts(tb)
	task := newTask(tb, "a")
	ctx, cancel := context.WithCancel(tb.Context())
	first := do(ctx, q, task)
	next()
	second := do(tb.Context(), p.Open(tb), task)
	next()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		tb.Errorf("got %v, want the end of the context", err)
	}
	if err := q.Do(ctx, task); !errors.Is(err, context.Canceled) {
		tb.Errorf("after the end: got %v, want the end of the context", err)
	}
	serve(tb, q, "g", "gpu", 1, returnNil)
	wait(tb, second)
}
