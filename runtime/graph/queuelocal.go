package graph

import (
	"context"
	"errors"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// LocalQueue is the TaskQueue for one process, and a Relay. The zero LocalQueue is ready for use.
// It must not be copied.
type LocalQueue struct {
	mu     sync.Mutex
	queues map[[2]string]chan *handedOut // by graph and queue
	takers map[executionID]chan []byte   // of what tasks emit
}

// executionID identifies one execution of a task.
type executionID struct {
	thread          string
	base            checkpoint.ID
	task, execution string
}

func idOf(t *QueuedTask) executionID { return executionID{t.Thread, t.Base, t.Task, t.Execution} }

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

// Emit implements Relay.
func (q *LocalQueue) Emit(t QueuedTask, value []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.takers[idOf(&t)] <- value:
	default: // nobody takes it, or the stream is slow
	}
}

// DoEmitting implements Relay. If more than 256 values wait for take, further ones are dropped.
func (q *LocalQueue) DoEmitting(ctx context.Context, t QueuedTask, take func(value []byte)) error {
	id, values := idOf(&t), make(chan []byte, relayedBuffer)
	q.mu.Lock()
	if q.takers == nil {
		q.takers = make(map[executionID]chan []byte)
	}
	q.takers[id] = values
	q.mu.Unlock()
	over := make(chan error, 1)
	go func() {
		over <- q.Do(ctx, t)
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.takers[id] == values {
			delete(q.takers, id)
		}
		close(values)
	}()
	for value := range values {
		take(value)
	}
	return <-over
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
