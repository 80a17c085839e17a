package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// A task of a queue is a thread of its own, without records: one input, see graph.QueueGraph. The
// worker finds it as it finds other due threads, and holds it by moving its Wake. The thread is
// deleted when the task has its outcome.

// taskPause is the time after which a task without an outcome runs again.
const taskPause = time.Second

// addQueues adds the queues that Options.Queues names, with slots of their own. With QueuesOnly
// they replace the graphs.
func (w *Worker) addQueues() error {
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
	if w.opt.QueuesOnly {
		clear(w.apps)
		w.turns, w.keepers = nil, nil
	}
	for _, app := range w.given {
		graphs, err := app.Serves(w.saver)
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		for _, name := range app.Queues() {
			if w.opt.Queues[name] == 0 {
				continue
			}
			t := &turn{app: app, max: w.opt.Queues[name], tasks: true, queue: name, of: graphs}
			for _, of := range graphs {
				t.names = append(t.names, graph.QueueGraph(of, name))
			}
			for _, name := range t.names {
				w.apps[name] = t
			}
			w.turns = append(w.turns, t)
		}
	}
	return nil
}

// perform runs a task of a queue, and deletes its thread. It reports whether it did. Without an
// outcome, the task runs again.
func (w *Worker) perform(ctx context.Context, h *holding) (done bool) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		w.beat(ctx, h, over)
	}()
	err := w.runTask(ctx, h)
	close(over)
	<-ended
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opt.SaverTimeout)
	defer cancel()
	if err == nil {
		return w.saver.Delete(call, h.ID) == nil // if that fails, another worker finds the outcome
	}
	pause := taskPause
	switch {
	case ctx.Err() != nil:
		pause = 0
	case errors.Is(err, graph.ErrGraphChanged): // for workers of another version
		w.mu.Lock()
		w.left.add(h.ID, time.Now())
		w.mu.Unlock()
		pause = 0
	}
	if w.keep(call, h, pause) == nil && pause == 0 {
		w.hint(ctx, h)
	}
	w.emit(Event{Kind: EventTaskFailed, Graph: h.Graph, Thread: h.ID, Err: err})
	return false
}

// queueSlot takes a slot of a queue for a task that the run of its thread executes. It returns nil
// if no slot is free, if other tasks may wait for it, or if the queue is paused. The returned
// function frees the slot.
func (w *Worker) queueSlot(queue string) (free func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.apps[queue]
	if t == nil || t.idle.IsZero() || t.running >= t.max || w.rests() || w.pauses.paused(t) {
		return nil
	}
	t.running++
	return func() {
		w.mu.Lock()
		t.running--
		// Without an announcement, tasks may have come since the poll.
		waits := t.idle.IsZero() || !w.notifies && time.Since(t.idle) > w.opt.Poll || w.pausesAreOld()
		w.mu.Unlock()
		if waits {
			w.again()
		}
	}
}

// runTask reads and runs a task of a queue.
func (w *Worker) runTask(ctx context.Context, h *holding) error {
	mail := h.Mail
	if !h.HasMail {
		call, cancel := context.WithTimeout(ctx, w.opt.SaverTimeout)
		defer cancel()
		var err error
		if mail, err = w.saver.Mail(call, checkpoint.MailQuery{Thread: h.ID, Limit: 1}); err != nil {
			return err
		}
	}
	if len(mail) == 0 {
		return nil
	}
	again := !h.Wake.Equal(mail[0].Posted) // a worker that takes a task moves its Wake
	return h.turn.app.RunQueued(ctx, mail[0].Payload, again)
}

// beat keeps a task from other workers until over is closed.
func (w *Worker) beat(ctx context.Context, h *holding, over <-chan struct{}) {
	tick := time.NewTicker(reserve / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = w.keep(context.WithoutCancel(ctx), h, reserve) // if that fails, the task may run twice
		case <-over:
			return
		}
	}
}

// keep makes other workers get a task after d.
func (w *Worker) keep(ctx context.Context, h *holding, d time.Duration) error {
	call, cancel := context.WithTimeout(ctx, w.opt.SaverTimeout)
	defer cancel()
	return w.saver.Rewake(call, checkpoint.Rewake{
		Thread: h.ID, Fence: h.Fence, Posted: h.Posted, Birth: h.Birth, Wake: h.found.Add(time.Since(h.claimed) + d),
	})
}
