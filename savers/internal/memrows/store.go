// Package memrows keeps rows in sorted slices, for tests of package rows.
package memrows

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// Store is a rows.Store in memory. It keeps values as they are, so it neither encodes nor decodes.
// A put takes time in proportion to the rows of its table. The zero Store is empty and ready to
// use.
type Store struct {
	mu     sync.RWMutex
	tables [rows.Tables][]rows.Row // by key
}

var _ rows.Store = (*Store)(nil)

// New returns an empty Store.
func New() *Store { return new(Store) }

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
		from, to := s.within(r)
		found := slices.Clone(s.tables[r.Table][from:to])
		if r.Reverse {
			slices.Reverse(found)
		}
		if r.Limit > 0 && len(found) > r.Limit {
			found = found[:r.Limit]
		}
		all[i] = found
	}
	return all
}

// find returns where a row is or would be, and whether it is there.
func (s *Store) find(t rows.Table, key []byte) (at int, found bool) {
	return slices.BinarySearchFunc(s.tables[t], key, func(r rows.Row, key []byte) int { return bytes.Compare(r.Key, key) })
}

// within returns where the rows of a range are.
func (s *Store) within(r *rows.Range) (from, to int) {
	from, found := s.find(r.Table, r.Bytes)
	if r.To == nil {
		if found {
			return from, from + 1
		}
		return from, from
	}
	to, _ = s.find(r.Table, r.To)
	return from, max(from, to)
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
		at, found := s.find(rows.Threads, []byte(c.Checks[i].Thread))
		if found != (c.Checks[i].Rev != 0) || found && s.tables[rows.Threads][at].Rev != c.Checks[i].Rev {
			return 0, nil, rows.ErrChanged
		}
	}
	for i := range c.Puts {
		if p := &c.Puts[i]; p.New {
			if _, found := s.find(p.Table, p.Bytes); found {
				return 0, nil, rows.ErrChanged
			}
		}
	}
	rev = c.Rev(now)
	for i := range c.Deletes {
		d := &c.Deletes[i]
		from, to := s.within(d)
		s.tables[d.Table] = slices.Delete(s.tables[d.Table], from, to)
	}
	for i := range c.Puts {
		p := &c.Puts[i]
		row := rows.Row{Key: p.Bytes, Rev: rev, Value: rows.Own(p.Value)}
		at, found := s.find(p.Table, p.Bytes)
		if !found {
			s.tables[p.Table] = slices.Insert(s.tables[p.Table], at, row)
		}
		s.tables[p.Table][at] = row
	}
	return rev, s.read(c.Reads), nil
}

// Close does nothing: another Saver may use the same rows.
func (s *Store) Close() error { return nil }
