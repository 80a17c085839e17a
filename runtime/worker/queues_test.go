package worker_test

import (
	"context"
	"errors"
	"strings"
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

// TestAWorkerOfQueuesOnlyRunsNoThreads runs threads and tasks in two workers.
func TestAWorkerOfQueuesOnlyRunsNoThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := memory.New(), new(graph.LocalQueue)
		claimed := 0
		pool := worker.New(s, worker.Options{
			Queues: map[string]int{"gpu": 1}, QueuesOnly: true,
			OnEvent: func(e worker.Event) {
				if e.Kind == worker.EventClaimed {
					claimed++
				}
			},
		}, heavy(t, s, say("gpu"), graph.Queues(q)))
		stopPool := running(pool)
		g := heavy(t, s, say("gpu"), graph.Queues(q))
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
				s, q := memory.New(), new(graph.LocalQueue)
				n := func(ctx context.Context, _ Job) (JobUpdate, error) {
					if ignores {
						<-ctx.Done()
						return JobUpdate{}, ctx.Err()
					}
					time.Sleep(5 * time.Second)
					return said("gpu"), nil
				}
				stop := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 1}, QueuesOnly: true}, heavy(t, s, n, graph.Queues(q))))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				ended := make(chan error)
				go func() {
					_, err := heavy(t, s, n, graph.Queues(q)).Thread("t").Invoke(ctx, said("in"))
					ended <- err
				}()
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
				if err := <-ended; ignores != errors.Is(err, context.DeadlineExceeded) || !ignores && err != nil {
					t.Errorf("the run: got %v", err)
				}
			})
		})
	}
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
