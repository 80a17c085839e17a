package rows

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// removeThread removes a thread: only if it has ended, if keep is not nil. It reports whether it
// has. Concurrent removals join, on every Store. But they do not hold up other changes, because
// they read first.
func (s *Saver) removeThread(ctx context.Context, id string, keep *checkpoint.Retention) (removed bool, err error) {
	err = s.change(ctx, checkpoint.CheckThread(id), func() error {
		var removes bool
		var refused error
		m := &member{
			checks: []Check{{Thread: id}},
			ranges: []Range{point(threadKey(id)), versionsOf(id), last(mailOf(id, untaken))},
		}
		m.decide = func(rows [][]Row, now time.Time) *Change {
			c := new(Change)
			removes, refused = c.remove(id, keep, rows, now)
			return c
		}
		if _, _, err := s.removals.apply(ctx, m); err != nil { // a joint change may still decide
			return err
		}
		if removed = removes; removed {
			s.forget(id)
		}
		return refused
	})
	return removed, err
}

// remove adds the removal of a thread with all that it has to c, unless keep keeps the thread. The
// rows are the thread, its released versions and its newest untaken message.
func (c *Change) remove(id string, keep *checkpoint.Retention, rows [][]Row, now time.Time) (removed bool, err error) {
	t, err := asThread(id, rows[0], now)
	switch {
	case err != nil:
		return false, err
	case !t.exists() && keep != nil:
		return false, ledger.NoThread(id)
	case !t.exists():
		return false, nil
	case t.leased():
		return false, t.busy()
	}
	if keep != nil {
		if ended, err := t.ended(keep, rows[2]); err != nil || !ended {
			return false, err
		}
	}
	released, err := asVersions(id, rows[1])
	if err != nil {
		return false, err
	}
	c.removeRows(t, released)
	c.removeThread(t)
	return true, nil
}

// removeRows adds the removal of the rows of a thread but its own and those of the index.
func (c *Change) removeRows(t *thread, released []version) {
	for _, r := range t.roots(released) {
		c.removeVersion(t.ID, r)
	}
	c.Deletes = append(c.Deletes, versionsOf(t.ID), within(Key{Messages, t.ID, threadHash(t.ID)}))
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
	return ledger.Ended(keep, status, updated, t.Wake, t.Inputs, posted), nil
}
