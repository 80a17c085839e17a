package sqlsaver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Saver is a rows.Saver on the tables of a database, which may also have a store. Open
// makes it.
type Saver struct {
	*rows.Saver
	base *Database
	rows rows.Store
	tx   *RowStore // whose reads lock rows
	name string
}

// Open returns a saver on a database, whose tables it makes, changes or verifies as the mode
// says. It owns db from then on, also if it fails.
func Open(ctx context.Context, db DB, d *Dialect, o Options) (*Saver, error) {
	base, err := openDatabase(ctx, db, d, o)
	if err != nil {
		return nil, err
	}
	store := NewRowStore(base, d.Rows)
	store.packing = o.Packing
	locking := *d.Rows
	locking.lock = locking.Lock
	tx := NewRowStore(base, &locking)
	var contract rows.Store = store
	isServer := d.Rows.Skip != "" || d.Rows.Calls != nil
	if isServer {
		contract = lockStore{store, tx}
	}
	if d.IndexVectors != nil {
		contract = vectorStore{lockStore{store, tx}, new(sync.Map)}
	}
	if d.Rows.Calls != nil {
		if err := d.Rows.Calls.prepare(ctx, base); err != nil {
			return nil, errors.Join(err, base.Close())
		}
	}
	saver := rows.New(d.Name, contract, rows.Options{ReadOnly: o.Mode == ReadOnly, Readable: o.Readable, Decode: o.Decode, Join: isServer})
	return &Saver{saver, base, contract, tx, d.Name}, nil
}

// InTx returns a Poster that posts in a transaction of the caller. It does not retry.
func (s *Saver) InTx(tx Runner) checkpoint.Poster { return poster{s, tx} }

// poster is a Saver that posts in a transaction of the caller.
type poster struct {
	*Saver
	tx Runner
}

// Post stores messages.
func (p poster) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	if err := p.base.begin(ctx); err != nil {
		return nil, err
	}
	defer p.base.end()
	all, err := rows.New(p.name, txRows{p.Saver.tx, p.tx}, rows.Options{}).Post(ctx, posts...)
	if err != nil {
		return nil, fmt.Errorf("post in a transaction, which must be on the database of the saver: %w", err)
	}
	return all, nil
}

// txRows is the rows of a database in a transaction of the caller. It locks the threads that it
// reads.
type txRows struct {
	*RowStore
	tx Runner
}

// Read returns the rows of ranges, as they are committed.
func (t txRows) Read(ctx context.Context, ranges ...rows.Range) (all [][]rows.Row, now time.Time, err error) {
	all, now, err = t.read(ctx, ranges)
	return all, now, t.s.explain(ctx, err)
}

// read is Read with the errors of the database. A server gives a statement one view, so the
// threads, which come first, are locked before others are read.
func (t txRows) read(ctx context.Context, ranges []rows.Range) (all [][]rows.Row, now time.Time, err error) {
	if t.y.Calls != nil {
		return t.y.Calls.read(ctx, t.tx, true, ranges)
	}
	n := slices.IndexFunc(ranges, func(r rows.Range) bool { return r.Table != rows.Threads })
	if n < 0 {
		n = len(ranges)
	}
	for _, some := range [...][]rows.Range{ranges[:n], ranges[n:]} {
		if len(some) == 0 {
			continue
		}
		found, at, err := t.readBy(ctx, t.tx, some)
		if err != nil {
			return nil, time.Time{}, err
		}
		all, now = append(all, found...), at
	}
	return all, now, nil
}

// Apply stores c.
func (t txRows) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	rev, read, err = t.apply(ctx, c)
	return rev, read, t.failed(ctx, c, err)
}

// apply is Apply with the errors of the database.
func (t txRows) apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	if t.y.Calls != nil {
		return t.y.Calls.apply(ctx, t.tx, c)
	}
	rev = c.Rev(time.Now())
	steps := t.steps(c, rev)
	if b, can := t.tx.(Batcher); can && small(steps) {
		read, err = t.batch(ctx, b, c, steps)
	} else {
		read, err = t.run(ctx, t.tx, steps, c.Reads)
	}
	return rev, read, err
}

// RowsOf returns the rows of a saver, for tests.
func RowsOf(s *Saver) rows.Store { return s.rows }
