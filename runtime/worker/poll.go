package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// forever is the wait until something announces work.
const forever = time.Duration(-1)

// poll asks the saver for due threads and starts their runs. It ends if nothing is due, or if the
// slots that were free at its beginning are full. It returns how long the loop waits unless
// something happens, and an error that ends the worker.
func (w *Worker) poll(ctx, runs context.Context) (wait time.Duration, err error) {
	var next, now time.Time
	var asked bool
	found := 0
	w.mu.Lock()
	hinted := w.hints
	w.now, w.hints, w.wake = false, false, time.Time{}
	before := len(w.held)
	w.mu.Unlock()
	if err := w.readPauses(ctx); err != nil {
		return w.failed(ctx, err)
	}
	if err := w.beginWalks(ctx); err != nil {
		return w.failed(ctx, err)
	}
	r := w.newRound()
	for turns, limit := r.next(); limit > 0; turns, limit = r.next() {
		q := w.query(turns, limit)
		if q.Limit == 0 {
			break
		}
		got, err := w.ask(ctx, q)
		if err != nil && !w.partial(err) {
			return w.failed(ctx, err)
		}
		w.health.answered()
		for _, due := range got.Threads {
			w.start(runs, due, got.Now)
		}
		drained := w.took(r, turns, limit, &got)
		found += len(got.Threads)
		asked, now = true, got.Now
		if drained && !got.Next.IsZero() && (next.IsZero() || got.Next.Before(next)) {
			next = got.Next
		}
	}
	if hinted && asked {
		w.calmDown(found > 0)
	}
	return w.pause(asked, before+found, next, now), nil
}

// room reports whether the worker can run another thread or task. The caller must hold w.mu.
func (w *Worker) room() bool {
	slots := len(w.held)-w.tasks < w.opt.Slots
	return slices.ContainsFunc(w.turns, func(t *turn) bool { return t.tasks && t.running < t.max || !t.tasks && slots })
}

// drained reports whether the newest poll has left no due thread. The caller must hold w.mu.
func (w *Worker) drained() bool {
	return !slices.ContainsFunc(w.turns, func(t *turn) bool { return t.idle.IsZero() })
}

// calmDown sets how long hints cause no poll, after a poll that a hint has caused.
func (w *Worker) calmDown(found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = time.Now().Add(w.lull.After(found))
}

// query returns the call of Ready for apps. Its Limit is 0 if a run is late.
func (w *Worker) query(turns []*turn, limit int) checkpoint.ReadyQuery {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rests() {
		return checkpoint.ReadyQuery{}
	}
	q := checkpoint.ReadyQuery{Except: w.except(), Limit: limit, Reserve: reserve, Mail: mostMail}
	if w.health.fails() { // the messages may be too large for one call
		q.Mail = 0
	}
	for _, t := range turns {
		q.Graphs = append(q.Graphs, t.names...)
	}
	return q
}

// free returns how many slots are free. The caller must hold w.mu.
func (w *Worker) free() int {
	if w.rests() {
		return 0
	}
	return w.opt.Slots - (len(w.held) - w.tasks)
}

// rests reports whether the worker takes nothing, because runs are late. The caller must hold
// w.mu.
func (w *Worker) rests() bool { return w.late > 0 || time.Now().Before(w.resumes) }

// except returns the threads that Ready leaves out: those that the worker runs, and those that it
// cannot read.
func (w *Worker) except() []string {
	ids := w.left.ids(time.Now())
	for id := range w.held {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// ask is one call of Ready.
func (w *Worker) ask(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	call, cancel := context.WithTimeout(ctx, w.opt.SaverTimeout)
	defer cancel()
	return w.saver.Ready(call, q)
}

// partial reports whether err leaves out a part of the storage only, and emits it. The worker
// serves the other parts.
func (w *Worker) partial(err error) bool {
	partial := errors.Is(err, checkpoint.ErrPartial)
	if partial {
		w.emit(Event{Kind: EventSaverFailed, Err: err})
	}
	return partial
}

// failed handles an error of Ready.
func (w *Worker) failed(ctx context.Context, err error) (wait time.Duration, fatal error) {
	var invalid *checkpoint.InvalidError
	switch {
	case ctx.Err() != nil:
		return forever, nil //nolint:nilerr // the loop ends
	case errors.Is(err, checkpoint.ErrClosed) || errors.As(err, &invalid):
		return 0, err
	}
	failures := w.health.failed()
	if w.peers != nil {
		w.mu.Lock()
		w.peers.yield()
		w.mu.Unlock()
	}
	w.emit(Event{Kind: EventSaverFailed, Err: err})
	return jittered(min(100*time.Millisecond<<min(failures-1, 6), 5*time.Second)), nil
}

// pause returns how long the loop waits after a poll. ran is the number of threads that the worker
// ran before the poll or began to run in it. Ready did not see when their runs make them due. next
// is the earliest Wake that the saver knows, and now the time of the saver.
func (w *Worker) pause(asked bool, ran int, next, now time.Time) time.Duration {
	w.mu.Lock()
	held, full := len(w.held), !w.room() && !w.drained()
	left := w.left.next(time.Now())
	w.mu.Unlock()
	if full || !asked && len(w.pauses.names) == 0 {
		return forever // the end of a run, or a renewal, makes the loop poll again
	}
	if idle := ran+held == 0 && (next.IsZero() || next.After(now)); !idle {
		w.idle = nil
	} else if w.idle == nil || !w.idle.Equal(next) {
		w.idle = &next
		w.emit(Event{Kind: EventIdle, Wake: next})
	}
	wait := forever
	if !w.notifies {
		wait = jittered(w.opt.Poll)
	}
	if left > 0 && (wait == forever || left < wait) {
		wait = left
	}
	if !next.IsZero() {
		// A due thread that Ready did not return is locked by another worker for a moment.
		until := max(next.Sub(now), jittered(50*time.Millisecond))
		if wait == forever || until < wait {
			wait = until
		}
	}
	return wait
}

// jittered returns a random duration with the mean d, so that workers that started together
// do not poll together.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }
