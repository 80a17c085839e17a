package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// leftTasks returns the threads of tasks.
func leftTasks(t *testing.T, s checkpoint.Saver) (tasks []checkpoint.Thread) {
	t.Helper()
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if th.ID != "t" {
			tasks = append(tasks, th)
		}
	}
	return tasks
}

// TestATaskQueueNeedsOnlyTheSaver has the thread in one process and the worker in another: they
// share the saver, and have a TaskQueue each.
func TestATaskQueueNeedsOnlyTheSaver(t *testing.T) {
	for name, shared := range map[string]bool{"one process": true, "two processes": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				here := worker.NewTaskQueue(s, worker.TaskQueueOptions{})
				there := here
				if !shared {
					there = worker.NewTaskQueue(s, worker.TaskQueueOptions{})
				}
				stop := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 2}, QueuesOnly: true},
					heavy(t, s, say("gpu"), graph.Queues(there))))
				time.Sleep(time.Minute)
				began := time.Now()
				res, err := heavy(t, s, say("gpu"), graph.Queues(here)).Thread("t").Invoke(t.Context(), said("in"))
				if err != nil || res.Status != graph.Done || !slices.Equal(res.State.Log, []string{"in", "n0", "gpu"}) {
					t.Errorf("got %s with %q, %v; want it done", res.Status, res.State.Log, err)
				}
				if took := time.Since(began); shared && took > 0 || took > 2*time.Second {
					t.Errorf("the run took %s, want no time in one process, and at most 2 s in two", took)
				}
				synctest.Wait()
				if left := leftTasks(t, s); len(left) > 0 {
					t.Errorf("the tasks %v are left", left)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestManyShortTasksDoNotWaitForThePoll has the thread in one process and the worker in another.
// Neither waits for its poll of a second after each few tasks.
func TestManyShortTasksDoNotWaitForThePoll(t *testing.T) {
	const sends, each, slots = 400, 2 * time.Millisecond, 16
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		many := func() *app {
			b := graph.New("many", JobSchema)
			task := graph.TaskNode(b, "each", func(context.Context, Job, wire.String) (JobUpdate, error) {
				time.Sleep(each)
				return said("each"), nil
			}, graph.Queue("gpu"))
			b.Route(graph.Start, func(context.Context, Job) (graph.Next, error) {
				var next graph.Next
				for range sends {
					next.Add(task.Send(""))
				}
				return next, nil
			}, task.ID)
			b.Edge(task.ID, graph.End)
			g, err := b.Compile(graph.Saver(s), graph.Queues(worker.NewTaskQueue(s, worker.TaskQueueOptions{})))
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		stop := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": slots}, QueuesOnly: true}, many()))
		began := time.Now()
		res, err := many().Thread("t").Invoke(t.Context(), JobUpdate{})
		if err != nil || len(res.State.Log) != sends {
			t.Errorf("got %d results, %v; want %d", len(res.State.Log), err, sends)
		}
		// The first look may come after a second.
		if took := time.Since(began); took > 2*time.Second+2*sends/slots*each {
			t.Errorf("%d tasks of %s took %s by %d slots, want about %s", sends, each, took, slots, sends/slots*each)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestATaskOfASilentWorkerIsHandedOutAgain has one worker that takes a task and shows no sign of
// life, one that fails, and one that lives.
func TestATaskOfASilentWorkerIsHandedOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		queue := func() *worker.TaskQueue { return worker.NewTaskQueue(s, worker.TaskQueueOptions{}) }
		var runs atomic.Int32
		g := heavy(t, s, func(context.Context, Job) (JobUpdate, error) {
			runs.Add(1)
			time.Sleep(time.Minute) // longer than the silence
			return said("gpu"), nil
		}, graph.Queues(queue()))
		ended := make(chan error, 1)
		go func() {
			_, err := g.Thread("t").Invoke(t.Context(), said("in"))
			ended <- err
		}()
		synctest.Wait()
		left := leftTasks(t, s)
		if len(left) != 1 {
			t.Fatalf("got the tasks %v, want one", left)
		}
		due, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{left[0].Graph}, Limit: 9, Reserve: 5 * time.Second})
		if err != nil || len(due.Threads) != 1 { // this worker dies now
			t.Fatalf("got %d tasks and %v, want one", len(due.Threads), err)
		}
		failed := 0
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- queue().Serve(ctx, "heavy", "gpu", 1, func(ctx context.Context, task graph.QueuedTask) error {
				if failed++; failed == 1 {
					return errors.New("no saver")
				}
				return g.RunQueued(ctx, task)
			})
		}()
		began := time.Now()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Minute+10*time.Second {
			t.Errorf("the task took %s, want a minute after a silence of 5 s and a pause", took)
		}
		if runs.Load() != 1 || failed != 2 {
			t.Errorf("got %d executions by %d calls, want one by two", runs.Load(), failed)
		}
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("serve: got %v, want the end of the context", err)
		}
	})
}
