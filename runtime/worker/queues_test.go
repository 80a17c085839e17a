package worker_test

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
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// heavy compiles a graph whose node n1 has the queue gpu.
func heavy(tb testing.TB, s checkpoint.Saver, n node, opts ...graph.Option) *app {
	tb.Helper()
	b := graph.New("heavy", JobSchema)
	b.Node("n0", say("n0"))
	b.Node("n1", n, graph.Queue("gpu"))
	b.Edge(graph.Start, "n0")
	b.Edge("n0", "n1")
	b.Edge("n1", graph.End)
	g, err := b.Compile(append(opts, graph.Saver(s))...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// running runs a worker until the returned function is called, which returns the error of Run.
func running(w *worker.Worker) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error)
	go func() { over <- w.Run(ctx) }()
	return func() error {
		cancel()
		return <-over
	}
}

func TestOneWorkerRunsThreadsAndTheirQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := heavy(t, s, say("gpu"))
		stop := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 2}}, g))
		if _, err := g.Thread("t").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		snap, err := g.Thread("t").State(t.Context())
		if err != nil || snap.Status != graph.Done || strings.Join(snap.State.Log, " ") != "in n0 gpu" {
			t.Errorf("got %v, %v and %v; want the thread done", snap.State.Log, snap.Status, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// hangingPosts is a saver whose posts do not arrive.
type hangingPosts struct{ checkpoint.Saver }

func (hangingPosts) Post(ctx context.Context, _ ...checkpoint.Post) ([]checkpoint.Posted, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestATaskThatAStoppedWorkerDidNotHandOut stops a worker while it hands out a task of a queue.
// The thread is due for the next worker, which hands out the task.
func TestATaskThatAStoppedWorkerDidNotHandOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		if _, err := heavy(t, s, say("gpu")).Thread("t").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		cut := hangingPosts{s}
		stop := running(worker.New(cut, worker.Options{DrainTimeout: -1}, heavy(t, cut, say("gpu"))))
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		g := heavy(t, s, say("gpu"))
		stop = running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 1}}, g))
		time.Sleep(time.Minute)
		snap, err := g.Thread("t").State(t.Context())
		if err != nil || snap.Status != graph.Done || strings.Join(snap.State.Log, " ") != "in n0 gpu" {
			t.Errorf("got %v, %v and %v; want the thread done", snap.State.Log, snap.Status, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestAWorkerOfQueuesOnlyRunsNoThreads runs threads and tasks in two workers.
func TestAWorkerOfQueuesOnlyRunsNoThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		claimed := 0
		pool := worker.New(s, worker.Options{
			Queues: map[string]int{"gpu": 1}, QueuesOnly: true,
			OnEvent: func(e worker.Event) {
				if e.Kind == worker.EventClaimed {
					claimed++
				}
			},
		}, heavy(t, s, say("gpu")))
		stopPool := running(pool)
		g := heavy(t, s, say("gpu"))
		if _, err := g.Thread("t").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		stop := running(worker.New(s, worker.Options{}, g))
		synctest.Wait()
		snap, err := g.Thread("t").State(t.Context())
		if err != nil || snap.Status != graph.Done || claimed > 0 {
			t.Errorf("got %v and %v, %d threads claimed by the pool; want the thread done, and none", snap.Status, err, claimed)
		}
		if err := errors.Join(stop(), stopPool()); err != nil {
			t.Error(err)
		}
	})
}

// TestAWorkerThatStopsFinishesTheTasksOfItsQueues drains a worker in the middle of a task.
func TestAWorkerThatStopsFinishesTheTasksOfItsQueues(t *testing.T) {
	for name, ignores := range map[string]bool{"in time": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				n := func(ctx context.Context, _ Job) (JobUpdate, error) {
					if ignores {
						<-ctx.Done()
						return JobUpdate{}, ctx.Err()
					}
					time.Sleep(5 * time.Second)
					return said("gpu"), nil
				}
				stop := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 1}, QueuesOnly: true}, heavy(t, s, n)))
				g := heavy(t, s, n)
				if res, err := g.Thread("t").Invoke(t.Context(), said("in")); err != nil || res.Status != graph.Waiting {
					t.Fatalf("got %s, %v; want the thread waiting", res.Status, err)
				}
				synctest.Wait()
				began := time.Now()
				if err := stop(); err != nil {
					t.Error(err)
				}
				want := 5 * time.Second
				if ignores {
					want = 10 * time.Second // DrainTimeout
				}
				if took := time.Since(began); took != want {
					t.Errorf("the worker stopped after %s, want %s", took, want)
				}
				status := graph.Done
				if ignores {
					status = graph.Waiting
				}
				if res, err := g.Thread("t").Resume(t.Context()); err != nil || res.Status != status {
					t.Errorf("the thread: got %s, %v; want %s", res.Status, err, status)
				}
			})
		})
	}
}

// leftTasks returns the threads of tasks.
func leftTasks(t *testing.T, s checkpoint.Saver) (tasks []checkpoint.Thread) {
	t.Helper()
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix}) {
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, th)
	}
	return tasks
}

// TestATaskOfASilentWorkerIsRunByAnotherOne has one worker that takes a task and shows no sign of
// life, and one that lives. The task takes longer than the silence.
func TestATaskOfASilentWorkerIsRunByAnotherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var runs atomic.Int32
		g := heavy(t, s, func(context.Context, Job) (JobUpdate, error) {
			runs.Add(1)
			time.Sleep(time.Minute)
			return said("gpu"), nil
		})
		if _, err := g.Thread("t").Invoke(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		due, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{graph.QueueGraph("heavy", "gpu")}, Limit: 9, Reserve: 5 * time.Second})
		if err != nil || len(due.Threads) != 1 { // this worker dies now
			t.Fatalf("got %d tasks and %v, want one", len(due.Threads), err)
		}
		began := time.Now()
		first := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 2}}, g))
		second := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 2}}, g))
		time.Sleep(time.Minute + 6*time.Second)
		snap, err := g.Thread("t").State(t.Context())
		if err != nil || snap.Status != graph.Done || runs.Load() != 1 {
			t.Errorf("after %s: got %s, %v and %d executions; want the thread done by one", time.Since(began), snap.Status, err, runs.Load())
		}
		if left := leftTasks(t, s); len(left) > 0 {
			t.Errorf("the tasks %v are left", left)
		}
		if err := errors.Join(first(), second()); err != nil {
			t.Error(err)
		}
	})
}

// TestTasksTakeNoSlots has one slot, which a long run takes. A task of a queue runs all the same,
// and as many tasks as the queue has slots.
func TestTasksTakeNoSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var busy, most atomic.Int32
		g := heavy(t, s, func(context.Context, Job) (JobUpdate, error) {
			most.Store(max(most.Load(), busy.Add(1)))
			time.Sleep(time.Minute)
			busy.Add(-1)
			return said("gpu"), nil
		})
		for _, id := range ids("t", 5) {
			if _, err := g.Thread(id).Invoke(t.Context(), said("in")); err != nil {
				t.Fatal(err)
			}
		}
		long := line(t, "long", s, func(context.Context, Job) (JobUpdate, error) { time.Sleep(time.Hour); return said("long"), nil })
		if _, err := long.Thread("l").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		var idle atomic.Int32
		stop := running(worker.New(s, worker.Options{Slots: 1, Queues: map[string]int{"gpu": 2}, OnEvent: func(e worker.Event) {
			if e.Kind == worker.EventIdle {
				idle.Add(1)
			}
		}}, g, long))
		time.Sleep(30 * time.Minute)
		if most.Load() != 2 || len(leftTasks(t, s)) != 0 {
			t.Errorf("got %d tasks at the same time, and %d threads of tasks left; want 2 and none", most.Load(), len(leftTasks(t, s)))
		}
		time.Sleep(time.Hour)
		for _, id := range ids("t", 5) {
			if th := listed(t, s, id); th.Status != graph.Done {
				t.Errorf("thread %s: got %s, want it done", id, th.Status)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAWorkerRefusesQueuesThatItCannotServe(t *testing.T) {
	s := memory.New()
	g := heavy(t, s, say("gpu"))
	for want, o := range map[string]worker.Options{
		"no node of the graphs": {Queues: map[string]int{"cpu": 1}},
		"has 0 slots":           {Queues: map[string]int{"gpu": 0}},
		"without Queues":        {QueuesOnly: true},
	} {
		if err := worker.New(s, o, g).Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want an error with %q", o.Queues, err, want)
		}
	}
}
