package sqlsaver

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/savers/internal/rows"
)

// RowStore is a rows.Store on a database. Each table of the contract is a table of the database:
// pk is the key, and data the value in the form of rows.Encode. The table of threads also has the
// revision, and columns for people who read it.
//
// The statements are the same for all tables and databases but for a few words, so the program
// makes them of [Syntax].
type RowStore struct {
	s    *Saver
	text [rows.Tables]tableText
}

var _ rows.Store = (*RowStore)(nil)

// Syntax is how the statements on rows of one kind of database differ from those of others.
type Syntax struct {
	Place  func(n int) string // what stands for the n-th bound value, from 1
	Upsert string             // what follows an INSERT of pk and data that replaces the row with the key
	Ignore string             // what follows an INSERT of pk that does nothing if there is a row
}

// together is how many alike ranges one statement reads.
const together = 32

// tableText has the statements on one table.
type tableText struct {
	point, points       string // by one key, by together keys
	up, down            string // a range in ascending or descending order
	lasts               string // the last row of each of together ranges
	insert, set         string
	insertIf            string // insert if a thread has a revision
	update              string // of a thread with a revision
	remove, removeRange string
}

// NewRowStore returns the rows of a database, whose tables exist.
func NewRowStore(ctx context.Context, s *Saver, y *Syntax) (*RowStore, error) {
	r := &RowStore{s: s}
	var reads, writes []string
	for t := range rows.Tables {
		r.text[t] = y.table(rows.Table(t))
		x := &r.text[t]
		reads = append(reads, x.point, x.points, x.up, x.down, x.lasts)
		writes = append(writes, x.point, x.up, x.down, x.insert, x.set, x.insertIf, x.update, x.remove, x.removeRange)
	}
	empty := func(text string) bool { return text == "" }
	reads, writes = slices.DeleteFunc(reads, empty), slices.DeleteFunc(writes, empty)
	if err := s.try(ctx, RolledBack, func() error { return s.db.Prepare(ctx, reads, writes) }); err != nil {
		return nil, fmt.Errorf("%s: prepare: %w", s.d.Name, err)
	}
	return r, nil
}

// threadColumns are the columns of the table of threads, in the order of threadValues.
const threadColumns = "pk, rev, data, graph, title, status, created, updated, wake"

// threadValues returns the values of a row of the table of threads.
func threadValues(p *rows.Put, rev uint64) []any {
	t := p.Value.(*rows.Thread)
	return []any{
		p.Bytes, int64(rev), []byte(rows.Encode(p.Bytes, t)), t.About.Graph, t.About.Title, int64(t.Shown()),
		microOf(t.About.Created), microOf(t.Updated), microOf(t.Wake),
	}
}

func microOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// table makes the statements on one table.
func (y *Syntax) table(t rows.Table) (x tableText) {
	name := "graph_row_" + t.String()
	places := func(from, n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = y.Place(from + i)
		}
		return strings.Join(all, ", ")
	}
	p := y.Place
	columns := "pk, 0, data"
	switch t {
	case rows.Threads:
		columns = "pk, rev, data"
		n := strings.Count(threadColumns, ",") + 1
		x.insert = "INSERT INTO " + name + " (" + threadColumns + ") VALUES (" + places(1, n) + ")"
		var sets []string
		for i, c := range strings.Split(threadColumns, ", ")[1:] {
			sets = append(sets, c+" = "+p(i+1))
		}
		x.update = "UPDATE " + name + " SET " + strings.Join(sets, ", ") + " WHERE pk = " + p(n) + " AND rev = " + p(n+1)
	case rows.Index:
		columns = "pk, 0, pk"
		x.set = "INSERT INTO " + name + " (pk) VALUES (" + p(1) + ")" + y.Ignore
	default:
		x.insert = "INSERT INTO " + name + " (pk, data) VALUES (" + places(1, 2) + ")"
		x.set = x.insert + y.Upsert
		x.insertIf = "INSERT INTO " + name + " (pk, data) SELECT " + places(1, 2) +
			" WHERE EXISTS (SELECT 1 FROM graph_row_thread WHERE pk = " + p(3) + " AND rev = " + p(4) + ")"
	}
	from := "SELECT " + columns + " FROM " + name + " WHERE pk "
	between := ">= " + p(1) + " AND pk < " + p(2) + " ORDER BY pk"
	x.point = from + "= " + p(1)
	x.points = from + "IN (" + places(1, together) + ")"
	x.up, x.down = from+between+" LIMIT "+p(3), from+between+" DESC LIMIT "+p(3)
	lasts := make([]string, together)
	for i := range lasts {
		lasts[i] = fmt.Sprintf("SELECT * FROM (%s>= %s AND pk < %s ORDER BY pk DESC LIMIT 1) AS t%d", from, p(2*i+1), p(2*i+2), i)
	}
	x.lasts = strings.Join(lasts, " UNION ALL ")
	x.remove = "DELETE FROM " + name + " WHERE pk = " + p(1)
	x.removeRange = "DELETE FROM " + name + " WHERE pk >= " + p(1) + " AND pk < " + p(2)
	return x
}

// Read returns the rows of ranges.
func (r *RowStore) Read(ctx context.Context, ranges ...rows.Range) (all [][]rows.Row, now time.Time, err error) {
	if len(ranges) == 1 {
		err = r.s.try(ctx, Lost, func() error {
			all = make([][]rows.Row, 1)
			call := r.call(ranges)
			found, err := r.s.db.Query(ctx, call.Text, call.Args...)
			if err != nil {
				return err
			}
			return each(found, func(row Rows) error { return scanRow(row, ranges, all) })
		})
		return all, time.Now(), err
	}
	err = r.s.read(ctx, func(tx Tx) error {
		all, err = r.readIn(ctx, tx, ranges)
		return err
	})
	return all, time.Now(), err
}

// readIn reads ranges in a transaction.
func (r *RowStore) readIn(ctx context.Context, tx Tx, ranges []rows.Range) ([][]rows.Row, error) {
	all := make([][]rows.Row, len(ranges))
	var calls []Call
	var firsts []int // the first range of each call
	for i := 0; i < len(ranges); {
		n := 1
		for n < together && i+n < len(ranges) && alike(&ranges[i], &ranges[i+n]) {
			n++
		}
		calls, firsts = append(calls, r.call(ranges[i:i+n])), append(firsts, i)
		i += n
	}
	firsts = append(firsts, len(ranges))
	err := tx.Pipeline(ctx, calls, func(call int, row Rows) error {
		from, to := firsts[call], firsts[call+1]
		return scanRow(row, ranges[from:to], all[from:to])
	})
	return all, err
}

// isLast reports whether a range selects the last row of some.
func isLast(r *rows.Range) bool { return r.Limit == 1 && r.Reverse && r.To != nil }

// alike reports whether one statement can read both ranges.
func alike(a, b *rows.Range) bool {
	return a.Table == b.Table && (a.To == nil && b.To == nil || isLast(a) && isLast(b))
}

// call returns the statement for ranges that are alike.
func (r *RowStore) call(ranges []rows.Range) Call {
	first := &ranges[0]
	x := &r.text[first.Table]
	if len(ranges) == 1 {
		if first.To == nil {
			return Call{x.point, []any{first.Bytes}}
		}
		text, limit := x.up, int64(first.Limit)
		if first.Reverse {
			text = x.down
		}
		if limit == 0 {
			limit = 1 << 62
		}
		return Call{text, []any{first.Bytes, first.To, limit}}
	}
	c := Call{Text: x.points, Args: make([]any, 0, 2*together)}
	if first.To != nil {
		c.Text = x.lasts
	}
	for i := range together {
		q := &ranges[min(i, len(ranges)-1)]
		c.Args = append(c.Args, q.Bytes)
		if q.To != nil && i < len(ranges) {
			c.Args = append(c.Args, q.To)
		} else if q.To != nil { // an empty range
			c.Args = append(c.Args, q.Bytes)
		}
	}
	return c
}

// scan adds a row to the ranges that select it.
func scanRow(found Rows, ranges []rows.Range, all [][]rows.Row) error {
	var row rows.Row
	var rev int64
	var data []byte
	if err := found.Scan(&row.Key, &rev, &data); err != nil {
		return err
	}
	row.Rev, row.Value = uint64(rev), rows.Bytes(data)
	if len(ranges) == 1 {
		all[0] = append(all[0], row)
		return nil
	}
	for i := range ranges {
		r := &ranges[i]
		if r.To == nil && bytes.Equal(r.Bytes, row.Key) || r.To != nil && bytes.Compare(r.Bytes, row.Key) <= 0 && bytes.Compare(row.Key, r.To) < 0 {
			all[i] = []rows.Row{row}
		}
	}
	return nil
}

// Apply stores c.
func (r *RowStore) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	rev = c.Rev(time.Now())
	if one := len(c.Checks) == 1 && len(c.Puts) == 1 && len(c.Deletes)+len(c.Reads) == 0 && c.Puts[0].New && c.Puts[0].Table != rows.Threads; one {
		p := &c.Puts[0]
		err = r.s.try(ctx, RolledBack, func() error {
			n, err := r.s.db.Exec(ctx, r.text[p.Table].insertIf, p.Bytes, []byte(rows.Encode(p.Bytes, p.Value)), []byte(c.Checks[0].Thread), int64(c.Checks[0].Rev))
			if err == nil && n == 0 {
				err = rows.ErrChanged
			}
			return err
		})
		return rev, nil, r.changed(err)
	}
	err = r.s.share(ctx, RolledBack, func(tx Tx) error {
		read, err = r.applyIn(ctx, tx, c, rev)
		return err
	})
	return rev, read, r.changed(err)
}

// changed returns ErrChanged for the error of a row that exists.
func (r *RowStore) changed(err error) error {
	if err != nil && r.s.fault(err) == Duplicate {
		return fmt.Errorf("%w: %w", rows.ErrChanged, err)
	}
	return err
}

// applyIn stores c in a transaction.
func (r *RowStore) applyIn(ctx context.Context, tx Tx, c *rows.Change, rev uint64) ([][]rows.Row, error) {
	for i := range c.Checks {
		if err := r.check(ctx, tx, c, &c.Checks[i], rev); err != nil {
			return nil, err
		}
	}
	for i := range c.Deletes {
		d := &c.Deletes[i]
		text, args := r.text[d.Table].remove, []any{d.Bytes}
		if d.To != nil {
			text, args = r.text[d.Table].removeRange, []any{d.Bytes, d.To}
		}
		if err := tx.Later(ctx, text, args...); err != nil {
			return nil, err
		}
	}
	for i := range c.Puts {
		p := &c.Puts[i]
		text, args := r.text[p.Table].set, []any{p.Bytes}
		switch {
		case p.Table == rows.Threads: // its check has stored it
			continue
		case p.Table != rows.Index:
			args = append(args, []byte(rows.Encode(p.Bytes, p.Value)))
			if p.New {
				text = r.text[p.Table].insert
			}
		}
		if err := tx.Later(ctx, text, args...); err != nil {
			return nil, err
		}
	}
	if len(c.Reads) == 0 {
		return nil, nil
	}
	return r.readIn(ctx, tx, c.Reads)
}

// check checks the revision of a thread, and stores its new row if c has one.
func (r *RowStore) check(ctx context.Context, tx Tx, c *rows.Change, k *rows.Check, rev uint64) error {
	x := &r.text[rows.Threads]
	for i := range c.Puts {
		p := &c.Puts[i]
		if p.Table != rows.Threads || p.Thread != k.Thread {
			continue
		}
		values := threadValues(p, rev)
		if k.Rev == 0 {
			return tx.Later(ctx, x.insert, values...)
		}
		n, err := tx.Exec(ctx, x.update, append(values[1:], values[0], int64(k.Rev))...)
		if err == nil && n == 0 {
			err = rows.ErrChanged
		}
		return err
	}
	found, err := tx.Query(ctx, x.point, []byte(k.Thread))
	if err != nil {
		return err
	}
	var row [1][]rows.Row
	err = each(found, func(f Rows) error { return scanRow(f, make([]rows.Range, 1), row[:]) })
	if err == nil && (len(row[0]) == 0 && k.Rev != 0 || len(row[0]) == 1 && row[0][0].Rev != k.Rev) {
		err = rows.ErrChanged
	}
	return err
}

// Close does nothing: the saver closes the database.
func (r *RowStore) Close() error { return nil }
