package graph

import (
	"context"
	"errors"
	"sync"
)

// LocalQueue is the TaskQueue for one process. The zero LocalQueue is ready for use. It must not
// be copied.
type LocalQueue struct {
	mu     sync.Mutex
	queues map[[2]string]chan *handedOut // by graph and queue
}

// handedOut is a task that waits for a worker, or that one runs.
type handedOut struct {
	ctx  context.Context
	task QueuedTask
	done chan error
}

// errNoOutcome is the error of a task whose node ended the goroutine of its worker.
var errNoOutcome = errors.New("the worker ended without an outcome")

// of returns the channel of a queue of a graph.
func (q *LocalQueue) of(graph, queue string) chan *handedOut {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := [2]string{graph, queue}
	if q.queues == nil {
		q.queues = make(map[[2]string]chan *handedOut)
	}
	if q.queues[at] == nil {
		q.queues[at] = make(chan *handedOut)
	}
	return q.queues[at]
}

// Do implements TaskQueue. If ctx ends while a worker runs the task, Do waits for the worker.
func (q *LocalQueue) Do(ctx context.Context, t QueuedTask) error {
	h := &handedOut{ctx: ctx, task: t, done: make(chan error, 1)}
	select {
	case q.of(t.Graph, t.Queue) <- h:
		return <-h.done
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Serve implements TaskQueue. The context of run ends with that of Do.
func (q *LocalQueue) Serve(
	ctx context.Context, graph, queue string, slots int, run func(context.Context, QueuedTask) error,
) error {
	tasks := q.of(graph, queue)
	var all sync.WaitGroup
	for range slots {
		all.Go(func() {
			for {
				select {
				case h := <-tasks:
					h.run(run)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// run runs the task in a goroutine of its own, which the node may end.
func (h *handedOut) run(run func(context.Context, QueuedTask) error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := errNoOutcome
		defer func() { h.done <- err }()
		err = run(h.ctx, h.task)
	}()
	<-ended
}
