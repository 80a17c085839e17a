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
	_, err := r.store(ctx, Lost, func(tx txRows) (*rows.Change, error) {
		found, now, err := tx.Read(ctx, ranges...)
		if err != nil {
			return nil, err
		}
		return choose(found, now)
	})
	return err
}

// Reserve locks the threads of queues, and stores the change that choose returns.
func (r lockStore) Reserve(ctx context.Context, queues []rows.Queue, choose func(threads [][]rows.Row) (*rows.Change, error)) (read [][]rows.Row, err error) {
	text, args := r.y.due(queues)
	return r.store(ctx, RolledBack, func(tx txRows) (*rows.Change, error) {
		found := make([][]rows.Row, len(queues))
		err := ask(ctx, tx.tx, text, args, func(f Rows) error {
			var row rows.Row
			var queue, rev int64
			var data []byte
			if err := f.Scan(&queue, &row.Key, &rev, &data); err != nil {
				return err
			}
			row.Rev, row.Value = uint64(rev), data
			found[queue] = append(found[queue], row)
			return nil
		})
		if err != nil {
			return nil, err
		}
		return choose(found)
	})
}

// store stores the change that choose returns for what it reads in the same transaction, and
// returns what the change reads. It retries as Database.try does.
func (r lockStore) store(ctx context.Context, worst Fault, choose func(tx txRows) (*rows.Change, error)) (read [][]rows.Row, err error) {
	err = r.s.write(ctx, worst, func(tx Tx) error {
		in := txRows{r.locking, tx}
		c, err := choose(in)
		if err != nil || len(c.Checks) == 0 {
			return err
		}
		_, read, err = in.Apply(ctx, c)
		return err
	})
	return read, r.s.explain(ctx, err)
}

// due returns the statement that locks the threads of queues.
func (y *Syntax) due(queues []rows.Queue) (text string, args []any) {
	parts := make([]string, len(queues))
	for i := range queues {
		q := &queues[i]
		n := len(args)
		parts[i] = fmt.Sprintf("(SELECT %d, t.pk, t.rev, t.data FROM %s x STRAIGHT_JOIN %s t ON t.pk = SUBSTRING(x.pk, %d)"+
			" WHERE x.pk >= %s AND x.pk < %s ORDER BY x.pk LIMIT %d%s)",
			i, tableName(rows.Index), tableName(rows.Threads), q.ID+1, y.Place(n+1), y.Place(n+2), q.Limit, y.Skip)
		args = append(args, q.Bytes, q.To)
	}
	return strings.Join(parts, " UNION ALL "), args
}
