package sqlsaver

import (
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// span is the rest of a list that is newest first: the threads created between since and until.
// Of those created at until, only those with a key before last are in it.
type span struct {
	since, until int64
	last         []byte
}

// spanOf returns the threads that q selects by their time and place.
func spanOf(q *checkpoint.ThreadQuery, end []byte) span {
	since, until := createdIn(q)
	s := span{since, until - 1, end}
	if q.After == "" {
		return s
	}
	after := q.AfterCreated.Add(time.Microsecond - 1).UnixMicro()
	switch {
	case after > s.until: // the thread q.After is newer than all of them
	case !codec.Time(after).Equal(q.AfterCreated): // between two times that are stored
		s.until = after - 1
	default:
		s.until, s.last = after, []byte(q.After)
	}
	return s
}

// short reports whether few threads have the prefix. A list of these that is newest first reads
// them all, and sorts them.
func (l *listing) short(ctx context.Context) (bool, error) {
	if !l.q.NewestFirst() || len(l.q.Labels) > 0 || l.q.Prefix == "" {
		return false, nil
	}
	if err := l.s.begin(ctx); err != nil {
		return false, err
	}
	defer l.s.end()
	var n int64
	err := l.s.list(ctx, func(db Runner) error {
		_, err := l.s.one(ctx, db, stCountKeys, []any{l.from, l.to}, &n)
		return err
	})
	return n < few, l.s.wrap(ctx, "threads", err)
}

// sorted reads the whole list by keys. It returns the threads in the order of the query.
func (l *listing) sorted(ctx context.Context) (all []row, err error) {
	l.done = true
	for byID := l.s.listing(checkpoint.ThreadQuery{Prefix: l.q.Prefix, Released: l.q.Released}); !byID.done; {
		page, err := byID.page(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	all = slices.DeleteFunc(all, func(r row) bool {
		return !ledger.Follows(&l.q, r.ID, r.Created) || r.damage == nil && !ledger.Selects(&l.q, &r.Thread, !r.Lease.IsZero())
	})
	slices.SortFunc(all, func(a, b row) int { return ledger.Newer(a.ID, b.ID, a.Created, b.Created) })
	return all, nil
}
