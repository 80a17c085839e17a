// Package memrows keeps rows in the memory of the process, for tests, benchmarks and simulation.
package memrows

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/tidwall/btree"
)

// Store is a rows.Store in memory: a B-tree of rows for each table. Several Savers of one process
// may use it. Its clock is that of package time.
type Store struct {
	mu     sync.RWMutex
	tables [rows.Tables]*btree.BTreeG[rows.Row] // in the order of their keys
	rev    uint64                               // the newest revision
}

var _ rows.Store = (*Store)(nil)

// New returns an empty Store.
func New() *Store {
	s := new(Store)
	for i := range s.tables {
		s.tables[i] = btree.NewBTreeGOptions(func(a, b rows.Row) bool { return bytes.Compare(a.Key, b.Key) < 0 }, btree.Options{NoLocks: true})
	}
	return s
}

// Read returns the rows of ranges, and the time of package time.
func (s *Store) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.read(ranges), time.Now(), nil
}

// read returns the rows of ranges. The caller must hold s.mu.
func (s *Store) read(ranges []rows.Range) [][]rows.Row {
	all := make([][]rows.Row, len(ranges))
	for i := range ranges {
		r := &ranges[i]
		table, from := s.tables[r.Table], rows.Row{Key: r.Bytes}
		take := func(row rows.Row) bool {
			all[i] = append(all[i], row)
			return len(all[i]) != r.Limit
		}
		switch {
		case r.Items > 0:
			table.Ascend(from, func(row rows.Row) bool {
				if bytes.Compare(row.Key, r.To) >= 0 {
					return false
				}
				item, found := s.tables[rows.Items].Get(rows.Row{Key: row.Key[r.Items:]})
				return !found || take(item)
			})
		case r.To == nil:
			if row, found := table.Get(from); found {
				take(row)
			}
		case r.Reverse:
			table.Descend(rows.Row{Key: r.To}, func(row rows.Row) bool {
				return bytes.Equal(row.Key, r.To) || bytes.Compare(row.Key, r.Bytes) >= 0 && take(row)
			})
		default:
			table.Ascend(from, func(row rows.Row) bool { return bytes.Compare(row.Key, r.To) < 0 && take(row) })
		}
	}
	return all
}

// Apply stores c. It keeps the keys and the values of c.
func (s *Store) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.holds(c) {
		return 0, nil, rows.ErrChanged
	}
	s.rev++
	for i := range c.Deletes {
		d := &c.Deletes[i]
		if table, from := s.tables[d.Table], (rows.Row{Key: d.Bytes}); d.To == nil {
			table.Delete(from)
		} else {
			table.DeleteRange(from, rows.Row{Key: d.To}, &btree.DeleteRangeOptions{NoReturn: true})
		}
	}
	for i := range c.Puts {
		p := &c.Puts[i]
		s.tables[p.Table].Set(rows.Row{Key: p.Bytes, Rev: s.rev, Value: p.Value})
	}
	return s.rev, s.read(c.Reads), nil
}

// holds reports whether the Checks of c and the demands of its New puts hold. The caller must hold
// s.mu.
func (s *Store) holds(c *rows.Change) bool {
	for i := range c.Checks {
		stored, _ := s.tables[c.Checks[i].Table].Get(rows.Row{Key: []byte(c.Checks[i].Thread)})
		if stored.Rev != c.Checks[i].Rev { // the revision of a stored row is not 0
			return false
		}
	}
	for i := range c.Puts {
		if p := &c.Puts[i]; p.New {
			if _, found := s.tables[p.Table].Get(rows.Row{Key: p.Bytes}); found {
				return false
			}
		}
	}
	return true
}

// Close does nothing: another Saver may use the same rows.
func (s *Store) Close() error { return nil }
