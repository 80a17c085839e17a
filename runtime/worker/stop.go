package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// ErrStopped is the cause of the contexts that a Worker cancels when it ends. It wraps the error
// of a cancelled context.
var ErrStopped = fmt.Errorf("the worker stops: %w", context.Canceled)

// stop ends the runs in three phases: drain, cancel, give up the leases.
func (w *Worker) stop(runs context.Context, cancel context.CancelCauseFunc) error {
	w.health.drains()
	close(w.drain)
	w.emit(Event{Kind: EventDraining})
	if w.idleWithin(w.opt.DrainTimeout) {
		return nil
	}
	cancel(ErrStopped)
	if w.idleWithin(w.opt.CancelTimeout) {
		return nil
	}
	return w.release(runs)
}

// idleWithin waits until the worker runs nothing, for at most the given time.
func (w *Worker) idleWithin(limit time.Duration) bool {
	timer := time.NewTimer(max(limit, 0))
	defer timer.Stop()
	for {
		w.mu.Lock()
		n := len(w.held)
		w.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-w.kick: // a run has ended
		case <-timer.C:
			return false
		}
	}
}

// release gives up the leases of the runs that have not ended. Their threads are due now.
func (w *Worker) release(ctx context.Context) error {
	w.mu.Lock()
	var stuck []holding
	var ids []string
	for id, h := range w.held {
		stuck, ids = append(stuck, *h), append(ids, id)
	}
	w.mu.Unlock()
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opt.SaverTimeout)
	defer cancel()
	for _, h := range stuck {
		e := Event{Kind: EventReleased, Graph: h.Graph, Thread: h.ID}
		if !h.fence.IsZero() {
			e.Err = w.letGo(call, &h)
		}
		w.emit(e)
	}
	slices.Sort(ids)
	return fmt.Errorf("worker: %d runs have not ended, of threads %q: their nodes ignore the end of their contexts; "+
		"end this process before they do any more work", len(ids), ids)
}

// letGo gives up the lease of a run, whose thread is due now. If the last write of the run is
// stored and only its call has not returned, letGo leaves the thread as that write left it. The
// write can also come after the look: so letGo sets no status.
func (w *Worker) letGo(ctx context.Context, h *holding) error {
	t, err := checkpoint.FindThread(ctx, w.saver, h.ID)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound): // the run has released the version
		return nil
	case err != nil || t.Status != checkpoint.Running:
		return err
	}
	_, err = w.saver.PutWrites(ctx, checkpoint.PutWrites{Thread: h.ID, Fence: h.fence, End: true, Wake: time.Unix(1, 0)})
	return err
}
