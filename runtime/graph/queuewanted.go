package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// A worker of a queue asks for news of the thread before it runs a task, and while the task runs.
// So a task ends that no run waits for any more. Its thread was cancelled, or has continued
// without it, as after a race.

// errUnwanted is the cause of the end of a task that its thread does not wait for.
var errUnwanted = errors.New("the thread does not wait for the task any more")

// watch calls unwanted when the thread does not wait for a task any more, until the returned
// function is called. It asks for news of the thread from a second on, so that short tasks cost
// nothing. It also stores the notes of Progress.
func (r pooled) watch(q *queuedTask, notes *queueNotes, unwanted func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.run.ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		timer := time.NewTimer(news.Every)
		defer timer.Stop()
		beat := time.NewTicker(r.root.lease() / 3)
		defer beat.Stop()
		changed := make(chan struct{}, 1)
		var seat *news.Seat
		for {
			select {
			case <-ctx.Done():
				if seat != nil {
					seat.Leave()
				}
				return
			case <-timer.C:
				if seat == nil {
					seat = r.root.news.Watch(ctx, q.Thread, func() {
						select {
						case changed <- struct{}{}:
						default: // the goroutine looks at the thread after this change
						}
					})
				}
				timer.Reset(min(seat.Tick(), time.Hour))
			case <-beat.C:
				if note := notes.due(time.Now()); note != nil && newPooled(ctx, r.root, q).post(&checkpoint.Post{Thread: q.Thread, Outcomes: note}) == nil {
					notes.noteStored()
				}
			case <-changed: // after an error, the next change looks again
				if s, _, err := newPooled(ctx, r.root, q).current(q, false); err == nil && s == nil {
					unwanted()
				}
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// queueNotes are the notes of Progress of an execution in a worker. An outcome never changes, so
// each stored note is an outcome of its own. A note is stored when it differs from the one before,
// and when an eighth of the time of the execution has passed since then. So their number grows
// with the logarithm of the time, and the newest one is at most that old.
type queueNotes struct {
	q      *queuedTask
	of     *journal.Heartbeats
	n      int       // how many are stored, of all executions of the task
	began  time.Time // when the execution began
	at     time.Time // when the newest note was stored
	newest string    // its text
	tried  string
}

// due returns the outcome of a note that has to be stored now; nil for none.
func (k *queueNotes) due(now time.Time) []checkpoint.Write {
	if now.Sub(k.at) < now.Sub(k.began)/8 {
		return nil
	}
	return k.last()
}

// last returns the outcome of the newest note; nil if it is stored. The caller calls noteStored
// when it is.
func (k *queueNotes) last() []checkpoint.Write {
	note, ok := k.of.Get(k.q.Task)
	if !ok || note == k.newest {
		return nil
	}
	k.tried = note
	return []checkpoint.Write{k.q.outcome(journal.NoteName(k.q.Round, k.n+1), []byte(note))}
}

// noteStored notes that the outcome of due or last is stored.
func (k *queueNotes) noteStored() { k.n, k.newest, k.at = k.n+1, k.tried, time.Now() }
