package sqlsaver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// lockStore is a RowStore of a server that locks rows.
type lockStore struct {
	*RowStore
	locking *RowStore // whose reads lock rows
}

var _ rows.Server = lockStore{}

// Locked locks the threads of ranges, and stores the change that choose returns.
func (r lockStore) Locked(ctx context.Context, ranges []rows.Range, choose func(found [][]rows.Row, now time.Time) (*rows.Change, error)) error {
	_, err := r.store(ctx, func(tx txRows) (*rows.Change, error) {
		found, now, err := tx.read(ctx, ranges)
		if err != nil {
			return nil, err
		}
		return choose(found, now)
	})
	return err
}

// Reserve locks the threads of queues, and stores the change that choose returns.
func (r lockStore) Reserve(ctx context.Context, queues []rows.Queue, choose func(threads [][]rows.Row) (*rows.Change, error)) (read [][]rows.Row, err error) {
	due := r.y.due
	if r.y.Calls != nil {
		due = r.y.Calls.Due
	}
	text, args := due(queues)
	return r.store(ctx, func(tx txRows) (*rows.Change, error) {
		found, err := call(ctx, tx.tx, len(queues), text, args)
		if err != nil {
			return nil, err
		}
		return choose(found[1:])
	})
}

// store stores the change that choose returns for what it reads in the same transaction, and
// returns what the change reads. It retries as Database.try does. With Calls, the change and the
// end of the transaction are one round trip.
func (r lockStore) store(ctx context.Context, choose func(tx txRows) (*rows.Change, error)) (read [][]rows.Row, err error) {
	c := new(rows.Change)
	err = r.s.write(ctx, Lost, func(tx Tx) error {
		in := txRows{r.locking, tx}
		chosen, err := choose(in)
		if err != nil {
			return err
		}
		if c, read = chosen, nil; len(c.Checks) == 0 {
			return nil
		}
		if r.y.Calls == nil {
			_, read, err = in.apply(ctx, c)
			return err
		}
		text, args := r.y.Calls.Apply(c)
		read = make([][]rows.Row, len(c.Reads)+1)
		return tx.Later(ctx, scanTo(read), text, args...)
	})
	switch {
	case err != nil:
		return nil, r.failed(ctx, c, err)
	case r.y.Calls == nil || len(c.Checks) == 0:
		return read, nil
	case len(read[0]) == 0:
		return nil, rows.ErrChanged
	}
	return read[1:], nil
}

// due returns the statement that locks the threads of queues.
func (y *Syntax) due(queues []rows.Queue) (text string, args []any) {
	parts := make([]string, len(queues))
	for i := range queues {
		q := &queues[i]
		n := len(args)
		parts[i] = fmt.Sprintf("(SELECT %d, t.pk, t.rev, t.data FROM %s x STRAIGHT_JOIN %s t ON t.pk = SUBSTRING(x.pk, %d)"+
			" WHERE x.pk >= %s AND x.pk < %s ORDER BY x.pk LIMIT %d%s)",
			i+1, tableName(rows.Index), tableName(rows.Threads), q.ID+1, y.Place(n+1), y.Place(n+2), q.Limit, y.Skip)
		args = append(args, q.Bytes, q.To)
	}
	return strings.Join(parts, " UNION ALL "), args
}
