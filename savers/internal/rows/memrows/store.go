// Package memrows keeps rows in the memory of the process.
package memrows

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/graphgen-go/graphgen/savers/internal/rows"
)

// Store is a rows.Store in memory. It keeps values as they are, so it neither encodes nor decodes.
// It is made by New.
type Store struct {
	mu     sync.RWMutex
	tables [rows.Tables]*btree.BTreeG[rows.Row]
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

// Read returns the rows of ranges.
func (s *Store) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.read(ranges), time.Now(), nil
}

// read is Read for a caller that holds s.mu.
func (s *Store) read(ranges []rows.Range) [][]rows.Row {
	all := make([][]rows.Row, len(ranges))
	for i := range ranges {
		r := &ranges[i]
		table := s.tables[r.Table]
		switch {
		case r.To == nil:
			if row, found := table.Get(rows.Row{Key: r.Bytes}); found {
				all[i] = []rows.Row{row}
			}
		case r.Reverse:
			table.Descend(rows.Row{Key: r.To}, func(row rows.Row) bool {
				if bytes.Equal(row.Key, r.To) {
					return true
				}
				return take(r, &all[i], row, bytes.Compare(row.Key, r.Bytes) >= 0)
			})
		default:
			table.Ascend(rows.Row{Key: r.Bytes}, func(row rows.Row) bool {
				return take(r, &all[i], row, bytes.Compare(row.Key, r.To) < 0)
			})
		}
	}
	return all
}

// take adds a row that is within r, and reports whether r has room for more.
func take(r *rows.Range, all *[]rows.Row, row rows.Row, within bool) bool {
	if within {
		*all = append(*all, row)
	}
	return within && len(*all) != r.Limit
}

// Apply stores c.
func (s *Store) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i := range c.Checks {
		row, _ := s.tables[rows.Threads].Get(rows.Row{Key: []byte(c.Checks[i].Thread)})
		if row.Rev != c.Checks[i].Rev {
			return 0, nil, rows.ErrChanged
		}
	}
	for i := range c.Puts {
		if p := &c.Puts[i]; p.New {
			if _, found := s.tables[p.Table].Get(rows.Row{Key: p.Bytes}); found {
				return 0, nil, rows.ErrChanged
			}
		}
	}
	rev = c.Rev(now)
	for i := range c.Deletes {
		d := c.Deletes[i]
		for _, row := range s.read([]rows.Range{d})[0] {
			s.tables[d.Table].Delete(row)
		}
	}
	for i := range c.Puts {
		p := &c.Puts[i]
		s.tables[p.Table].Set(rows.Row{Key: p.Bytes, Rev: rev, Value: rows.Own(p.Value)})
	}
	return rev, s.read(c.Reads), nil
}

// Close does nothing: another Saver may use the same rows.
func (s *Store) Close() error { return nil }
