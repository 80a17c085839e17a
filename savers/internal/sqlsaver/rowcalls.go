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
	all = make([][]rows.Row, n+1)
	return all, ask(ctx, db, text, args, scanTo(all))
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
	return all[1:], time.UnixMicro(int64(all[0][0].Rev)), nil
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

// Sorted returns the checks of c in the order of their keys. Changes that lock rows in this order
// do not wait for each other in a circle.
func Sorted(c *rows.Change) []rows.Check {
	all := slices.Clone(c.Checks)
	slices.SortFunc(all, func(a, b rows.Check) int { return strings.Compare(a.Thread, b.Thread) })
	return all
}
