package rows

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// removal is a call that removes a thread. Calls at the same time remove their threads together:
// by one read and one change. So the removal of many threads takes few statements.
type removal struct {
	id   string
	keep *checkpoint.Retention // removes the thread only if it has ended; nil removes it anyway
	done chan struct{}         // closed when err and removed are set

	removed bool
	err     error // ErrChanged: the call repeats it

	left atomic.Bool // the call has returned, because its context has ended
}

// removals are the calls that wait.
type removals struct {
	turn chan struct{} // has an element while a call removes threads

	mu      sync.Mutex
	waiting []*removal
}

// take takes calls that have waited for longest, at most one for each thread.
func (q *removals) take() (some []*removal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := make(map[string]bool)
	q.waiting = slices.DeleteFunc(q.waiting, func(r *removal) bool {
		if len(some) == mostTogether || taken[r.id] {
			return false
		}
		taken[r.id] = true
		some = append(some, r)
		return true
	})
	return some
}

// leave removes a call whose context has ended. If another call has taken it already, its thread
// may be removed.
func (q *removals) leave(r *removal) {
	r.left.Store(true)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(other *removal) bool { return other == r })
}

// mostTogether is how many threads one change removes at most.
const mostTogether = 64

// removeThread removes a thread. It reports whether it has.
func (s *Saver) removeThread(ctx context.Context, id string, keep *checkpoint.Retention) (removed bool, err error) {
	err = s.change(ctx, checkpoint.CheckThread(id), func() error {
		r := &removal{id: id, keep: keep, done: make(chan struct{})}
		s.removals.mu.Lock()
		s.removals.waiting = append(s.removals.waiting, r)
		s.removals.mu.Unlock()
		for {
			select {
			case <-r.done:
				removed = r.removed
				return r.err
			case <-ctx.Done():
				s.removals.leave(r)
				return ctx.Err()
			case s.removals.turn <- struct{}{}:
			}
			s.removeNext(ctx)
			<-s.removals.turn
		}
	})
	return removed, err
}

// removeNext removes the threads that wait first. If that fails, they are tried one by one: an
// error of one thread, or a context, is not that of the others. But a storage that is away is not
// asked for each of them.
func (s *Saver) removeNext(ctx context.Context) {
	some := s.removals.take()
	if len(some) == 0 {
		return
	}
	err := s.remove(ctx, some)
	alone := err != nil && len(some) > 1 && !errors.Is(err, checkpoint.ErrUnavailable)
	var part *PartError
	errors.As(err, &part)
	for i, r := range some {
		failed := err
		switch {
		case part != nil && slices.Contains(part.Stored, r.id):
			failed = nil
			s.forget(r.id)
		case alone && !r.left.Load():
			failed = s.remove(ctx, some[i:i+1])
			if errors.Is(failed, checkpoint.ErrUnavailable) { // the others try again, together
				alone, err = false, ErrChanged
			}
		}
		if failed != nil {
			r.removed, r.err = false, failed
		}
		if r.err != nil && ctx.Err() != nil {
			r.err = ErrChanged // the context may be that of another call
		}
		close(r.done)
	}
}

// remove removes threads with all that they have.
func (s *Saver) remove(ctx context.Context, some []*removal) error {
	var threads, versions, mail []Range
	for _, r := range some {
		threads, versions = append(threads, point(threadKey(r.id))), append(versions, versionsOf(r.id))
		if r.keep != nil {
			mail = append(mail, last(mailOf(r.id, untaken)))
		}
	}
	rows, now, err := s.read(ctx, slices.Concat(threads, versions, mail)...)
	if err != nil {
		return err
	}
	var c Change
	newest := rows[2*len(some):]
	for i, r := range some {
		var posted []Row
		if r.keep != nil {
			posted, newest = newest[0], newest[1:]
		}
		r.err = c.remove(r, rows[i], rows[len(some)+i], posted, now)
	}
	if len(c.Checks) == 0 {
		return nil
	}
	c.Joint = len(c.Checks) > 1
	if _, _, err = s.store.Apply(ctx, &c); err != nil {
		return err
	}
	for _, r := range some {
		if r.removed {
			s.forget(r.id)
		}
	}
	return nil
}

// remove adds the removal of a thread to c, if the call removes it. The rows are the thread, its
// released versions and its newest untaken message.
func (c *Change) remove(r *removal, row, versions, newest []Row, now time.Time) error {
	r.removed = false
	t, err := asThread(r.id, row, now)
	switch {
	case err != nil:
		return err
	case !t.exists() && r.keep != nil:
		return ledger.NoThread(r.id)
	case !t.exists():
		return nil
	}
	if err := t.busy(); err != nil {
		return err
	}
	if r.keep != nil {
		if ended, err := t.ended(r.keep, newest); err != nil || !ended {
			return err
		}
	}
	released, err := asVersions(t.ID, versions)
	if err != nil {
		return err
	}
	for _, v := range released {
		c.removeVersion(t.ID, v.root)
	}
	if t.Open != 0 {
		c.removeVersion(t.ID, t.Root)
	}
	c.Deletes = append(c.Deletes, versionsOf(t.ID), within(Key{Messages, t.ID, threadHash(t.ID)}))
	c.removeThread(t)
	r.removed = true
	return nil
}

// ended reports whether keep removes the whole thread. newest is its newest untaken message.
func (t *thread) ended(keep *checkpoint.Retention, newest []Row) (bool, error) {
	status, updated := t.Status, t.Updated
	if t.Open == 0 {
		status = checkpoint.Done
	}
	if updated.IsZero() {
		updated = t.About.Created
	}
	var posted time.Time
	if t.Others > 0 && len(newest) > 0 {
		m, err := newest[0].message()
		if err != nil {
			return false, of(t.ID, err)
		}
		posted = m.Posted
	}
	return ledger.Ended(keep, status, updated, t.Inputs, posted), nil
}
