package sqlsaver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// Calls are the statements of a database that reads and changes rows by functions of its own: one
// statement for each call of the contract.
//
// The statements return rows of four columns: a number, and the key, the revision and the data of
// a row. The number is that of what the row belongs to, from 1. The row of 0 is about the whole
// call.
type Calls struct {
	// Read reads ranges. The row of 0 has the server's time in microseconds as its revision. lock
	// asks for locks of the rows of threads that the ranges name.
	Read func(lock bool, ranges []rows.Range) (text string, args []any)
	// Apply stores a change and answers its reads. The row of 0 has the new revision. If a check
	// does not hold, there is no row. If a New row exists, there is none, or the error is a
	// Duplicate.
	Apply func(c *rows.Change) (text string, args []any)
	// Due reads and locks threads as Reserve of rows.Server says.
	Due func(queues []rows.Queue) (text string, args []any)
	// Check has statements that fail to be prepared unless the tables and functions are those of
	// the program.
	Check []string
}

// prepare lets the server check the statements of Check.
func (f *Calls) prepare(ctx context.Context, s *Database) error {
	err := s.try(ctx, RolledBack, func() error { return s.db.Prepare(ctx, nil, f.Check) })
	if err != nil {
		return fmt.Errorf("%s: prepare: %w", s.d.Name, err)
	}
	return nil
}

// call runs a statement, and returns its rows by their numbers, from 0 to n.
func call(ctx context.Context, db Runner, n int, text string, args []any) (all [][]rows.Row, err error) {
	r, err := db.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	all = make([][]rows.Row, n+1)
	return all, each(r, scanTo(all))
}

// scanTo returns a function that adds a row of a statement to those with its number.
func scanTo(all [][]rows.Row) func(Rows) error {
	return func(r Rows) error {
		var row rows.Row
		var at, rev int64
		var data []byte
		if err := r.Scan(&at, &row.Key, &rev, &data); err != nil {
			return err
		}
		row.Rev, row.Value = uint64(rev), data
		all[at] = append(all[at], row)
		return nil
	}
}

// read reads ranges.
func (f *Calls) read(ctx context.Context, db Runner, lock bool, ranges []rows.Range) ([][]rows.Row, time.Time, error) {
	text, args := f.Read(lock, ranges)
	all, err := call(ctx, db, len(ranges), text, args)
	if err != nil {
		return nil, time.Time{}, err
	}
	return all[1:], timeOf(all), nil
}

// apply stores a change.
func (f *Calls) apply(ctx context.Context, db Runner, c *rows.Change) (uint64, [][]rows.Row, error) {
	text, args := f.Apply(c)
	all, err := call(ctx, db, len(c.Reads), text, args)
	switch {
	case err != nil:
		return 0, nil, err
	case len(all[0]) == 0:
		return 0, nil, rows.ErrChanged
	}
	return all[0][0].Rev, all[1:], nil
}

// callStore is a RowStore with Calls.
type callStore struct{ *RowStore }

var _ rows.Server = callStore{}

// Locked locks the threads of ranges, and stores the change that choose returns.
func (r callStore) Locked(ctx context.Context, ranges []rows.Range, choose func(found [][]rows.Row, now time.Time) (*rows.Change, error)) error {
	text, args := r.y.Calls.Read(true, ranges)
	_, err := r.locked(ctx, len(ranges), text, args, func(found [][]rows.Row) (*rows.Change, error) {
		return choose(found[1:], timeOf(found))
	})
	return err
}

// Reserve locks the threads of queues, and stores the change that choose returns.
func (r callStore) Reserve(ctx context.Context, queues []rows.Queue, choose func(threads [][]rows.Row) (*rows.Change, error)) (read [][]rows.Row, err error) {
	text, args := r.y.Calls.Due(queues)
	return r.locked(ctx, len(queues), text, args, func(found [][]rows.Row) (*rows.Change, error) { return choose(found[1:]) })
}

// locked runs a statement that locks threads, and stores the change that choose returns for what
// it found, in two round trips. It returns what the change reads.
func (r callStore) locked(
	ctx context.Context, n int, text string, args []any, choose func(found [][]rows.Row) (*rows.Change, error),
) (read [][]rows.Row, err error) {
	var c *rows.Change
	err = r.s.write(ctx, Lost, func(tx Tx) error {
		read = nil
		found, err := call(ctx, tx, n, text, args)
		if err != nil {
			return err
		}
		if c, err = choose(found); err != nil || len(c.Checks) == 0 {
			return err
		}
		text, args := r.y.Calls.Apply(c)
		read = make([][]rows.Row, len(c.Reads)+1)
		return tx.Later(ctx, scanTo(read), text, args...)
	})
	switch {
	case err == nil && len(read) == 0: // nothing to store
		return nil, nil
	case err == nil && len(read[0]) == 0:
		return nil, rows.ErrChanged
	case err == nil:
		return read[1:], nil
	case c != nil:
		return nil, r.failed(ctx, c, err)
	}
	return nil, r.s.explain(ctx, err)
}

// timeOf returns the server's time in the rows of a Read.
func timeOf(all [][]rows.Row) time.Time { return time.UnixMicro(int64(all[0][0].Rev)) }

// Sorted returns the checks of c in the order of threads. Changes that lock threads in this order
// do not wait for each other in a circle.
func Sorted(c *rows.Change) []rows.Check {
	all := slices.Clone(c.Checks)
	slices.SortFunc(all, func(a, b rows.Check) int { return strings.Compare(a.Thread, b.Thread) })
	return all
}
