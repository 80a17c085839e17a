package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// checkQueues returns an error for Queues that the worker cannot serve.
func (w *Worker) checkQueues() error {
	if w.opt.QueuesOnly && len(w.opt.Queues) == 0 {
		return errors.New("worker: QueuesOnly without Queues leaves nothing to run; name the queues")
	}
	for name, slots := range w.opt.Queues {
		if slots < 1 {
			return fmt.Errorf("worker: queue %q has %d slots; want at least 1", name, slots)
		}
		if !slices.ContainsFunc(w.given, func(a App) bool { return slices.Contains(a.Queues(), name) }) {
			return fmt.Errorf("worker: Queues names %q, and no node of the graphs of the worker has that queue", name)
		}
	}
	return nil
}

// pool runs the tasks of queues.
type pool struct {
	leave  context.CancelFunc // ends the receiving of tasks
	cancel chan struct{}      // closed to end the contexts of running tasks
	wg     sync.WaitGroup
}

// serveQueues begins to run the tasks of Queues.
func (w *Worker) serveQueues() *pool {
	ctx, leave := context.WithCancel(context.Background())
	p := &pool{leave: leave, cancel: make(chan struct{})}
	for _, app := range w.given {
		for _, name := range app.Queues() {
			if slots := w.opt.Queues[name]; slots > 0 {
				p.wg.Go(func() { w.serveQueue(ctx, p, app, graph.Serving{Queue: name, Slots: slots}) })
			}
		}
	}
	return p
}

// serveQueue serves one queue of one graph until ctx ends.
func (w *Worker) serveQueue(ctx context.Context, p *pool, app App, s graph.Serving) {
	s.Cancel = p.cancel
	s.Failed = func(t graph.QueuedTask, err error) {
		w.emit(Event{Kind: EventTaskFailed, Graph: t.Graph, Thread: t.Thread, Err: err})
	}
	for {
		err := app.ServeQueue(ctx, s)
		if ctx.Err() != nil {
			return
		}
		w.emit(Event{Kind: EventEngineFailed, Err: err})
		pause := time.NewTimer(time.Second)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// stop ends the receiving of tasks, and waits for those that run. After drain their contexts are
// cancelled. If a node ignores that for longer than limit, stop returns an error.
func (p *pool) stop(drain, limit time.Duration) error {
	p.leave()
	over := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(over)
	}()
	if within(over, drain) {
		return nil
	}
	close(p.cancel)
	if within(over, limit) {
		return nil
	}
	return errors.New("worker: tasks of queues have not ended: their nodes ignore the end of their contexts; " +
		"end this process before they do any more work")
}

// within waits for over, for at most the given time.
func within(over <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(max(limit, 0))
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}
