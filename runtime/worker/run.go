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

// start runs a due thread in a slot.
// now is the saver's time of a thread that Ready has just returned.
func (w *Worker) start(ctx context.Context, found checkpoint.ReadyThread, now time.Time) {
	t := w.apps[found.Graph]
	h := &holding{ReadyThread: found, turn: t, found: now, claimed: time.Now()}
	w.mu.Lock()
	w.held[found.ID] = h
	w.idle = nil
	i := slices.Index(w.turns, t)
	w.turns = append(slices.Delete(w.turns, i, i+1), t)
	t.running++
	if t.tasks {
		w.tasks++
	}
	w.mu.Unlock()
	go w.run(ctx, h)
}

// run resumes a thread, and frees its slot.
func (w *Worker) run(ctx context.Context, h *holding) {
	var over bool
	if h.turn.tasks {
		over = w.perform(ctx, h)
	} else {
		over = w.resume(ctx, h)
	}
	w.mu.Lock()
	quiet := over && !h.hinted && w.announces && w.peers.listens && w.drained() // a hint announces the next one
	delete(w.held, h.ID)
	if h.turn.running--; h.turn.tasks {
		w.tasks--
	}
	w.mu.Unlock()
	if !quiet {
		w.again()
	}
}

// resume resumes a thread. It reports whether the thread is over: only a message makes it due
// again.
func (w *Worker) resume(ctx context.Context, h *holding) (over bool) {
	found := h.ReadyThread
	h.Mail = nil // the run frees the payloads once it has taken them
	run, err := h.turn.app.ResumeDue(ctx, found, graph.DueOptions{
		Holder: w.opt.Name, Retry: w.opt.Retry, Drain: w.drain, Late: w.renewing, News: w.news, QueueSlot: w.queueSlot,
		Opened: func(fence checkpoint.ID) { w.opened(h, fence) }, Refused: func(r checkpoint.Refusal) { w.refusedMessage(h, r) },
	})
	w.ended(ctx, h, run, err)
	return run.Opened && err == nil && (run.Status == graph.Done || run.Status == graph.Cancelled)
}

// opened notes that a run has taken its thread.
func (w *Worker) opened(h *holding, fence checkpoint.ID) {
	w.mu.Lock()
	h.fence, h.claimed = fence, time.Now()
	w.mu.Unlock()
	w.emit(Event{
		Kind: EventClaimed, Graph: h.Graph, Thread: h.ID, Status: h.Status, Attempts: h.FailedAttempts(), Waited: max(h.found.Sub(h.Wake), 0),
	})
}

// refusedMessage reports a message that a run has refused.
func (w *Worker) refusedMessage(h *holding, r checkpoint.Refusal) {
	w.emit(Event{
		Kind: EventMessageRefused, Graph: h.Graph, Thread: h.ID, Err: fmt.Errorf("message %d is refused: %s", r.Number, r.Reason),
	})
}

// ended reports the outcome of ResumeDue.
func (w *Worker) ended(ctx context.Context, h *holding, run graph.DueRun, err error) {
	e := Event{Graph: h.Graph, Thread: h.ID, Status: run.Status, Err: err}
	switch {
	case run.Opened:
		e.Kind, e.Steps, e.Attempts, e.Wake, e.Took = EventEnded, run.Steps, run.Attempts, run.Wake, time.Since(h.claimed)
		if run.Status == graph.Ready {
			w.hint(ctx, h)
		}
	case err == nil:
		if _, walks := h.turn.app.(*keeper); walks {
			return // EventCleaned says what it did
		}
		e.Kind = EventUnchanged
	case ctx.Err() != nil || errors.Is(err, graph.ErrDraining):
		e.Kind = EventRefused
		w.giveBack(ctx, h)
		w.mu.Lock()
		h.turn.draining = h.turn.draining || errors.Is(err, graph.ErrDraining)
		w.mu.Unlock()
	case moved(err):
		e.Kind = EventRefused
	case transient(err):
		e.Kind = EventSaverFailed // the reservation ends in a few seconds
	default:
		e.Kind = EventLeft
		w.mu.Lock()
		noted := w.left.add(h.ID, time.Now())
		w.mu.Unlock()
		if noted {
			w.giveBack(ctx, h)
		}
	}
	w.emit(e)
}

// moved reports whether another call has taken, changed or removed the thread.
func moved(err error) bool {
	return errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrNotFound)
}

// transient reports whether the saver failed for a reason that is not in the stored data.
func transient(err error) bool {
	var saver *graph.SaverError
	return errors.As(err, &saver) && !errors.Is(err, checkpoint.ErrDamaged) && !errors.Is(err, checkpoint.ErrTooLarge)
}

// giveBack ends the reservation of a thread that was not opened, so that other workers get it. If
// it fails, the reservation ends in a few seconds.
func (w *Worker) giveBack(ctx context.Context, h *holding) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opt.SaverTimeout)
	defer cancel()
	back := checkpoint.Rewake{Thread: h.ID, Fence: h.Fence, Posted: h.Posted, Birth: h.Birth, Wake: h.Wake}
	if w.saver.Rewake(call, back) == nil {
		w.hint(ctx, h)
	}
}

// hint tells other workers of a thread that is due. The Engine may lose it.
func (w *Worker) hint(ctx context.Context, h *holding) {
	if w.opt.Engine != nil {
		w.send(context.WithoutCancel(ctx), w.opt.SaverTimeout, h.Graph, h.ID)
	}
}

// renewing notes that a run is late, or no longer.
func (w *Worker) renewing(late bool) {
	w.mu.Lock()
	before := w.late
	if w.late++; !late {
		w.late -= 2
	}
	first, last := before == 0, w.late == 0
	if last { // the runs of other workers need time to renew their leases, too
		w.resumes = time.Now().Add(checkpoint.DefaultLease / 3)
		time.AfterFunc(checkpoint.DefaultLease/3, w.again)
	}
	w.mu.Unlock()
	if first {
		w.emit(Event{Kind: EventLate})
	}
	if last {
		w.emit(Event{Kind: EventOnTime})
	}
}

// The bounds of leftThreads.
const (
	leftMost = 1000
	leftFor  = 5 * time.Minute
)

// leftThreads are threads that the worker cannot read or must not run, with the time until which
// it does not look at them again.
type leftThreads map[string]time.Time

// add notes a thread, and reports whether there was room.
func (l *leftThreads) add(id string, now time.Time) bool {
	if *l == nil {
		*l = make(leftThreads)
	}
	if len(*l) >= leftMost {
		return false
	}
	(*l)[id] = now.Add(leftFor)
	return true
}

// has reports whether the worker leaves a thread.
func (l *leftThreads) has(id string, now time.Time) bool { return now.Before((*l)[id]) }

// next returns how long the worker leaves the thread that it looks at again first; 0 if it leaves
// none.
func (l *leftThreads) next(now time.Time) (wait time.Duration) {
	for _, until := range *l {
		if d := max(until.Sub(now), time.Millisecond); wait == 0 || d < wait {
			wait = d
		}
	}
	return wait
}

// ids returns the threads, without those whose time is over.
func (l *leftThreads) ids(now time.Time) []string {
	var ids []string
	for id, until := range *l {
		if now.After(until) {
			delete(*l, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}
