// Package memrows keeps rows in sorted slices, for tests of package rows.
package memrows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// Store is a rows.Store in memory. A put takes time in proportion to the rows of its table. The
// zero Store is empty and ready to use. It refuses a Change that breaks the rules which a Saver
// keeps.
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
	if err := broken(c); err != nil {
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
		row := rows.Row{Key: p.Bytes, Rev: rev, Value: p.Value}
		at, found := s.find(p.Table, p.Bytes)
		if !found {
			s.tables[p.Table] = slices.Insert(s.tables[p.Table], at, row)
		}
		s.tables[p.Table][at] = row
	}
	return rev, s.read(c.Reads), nil
}

// broken returns an error if c breaks a rule of rows.Change, which a Saver keeps.
func broken(c *rows.Change) error {
	checks := make(map[string]uint64)
	for _, k := range c.Checks {
		if _, found := checks[k.Thread]; found {
			return fmt.Errorf("memrows: a change has two checks of the thread %q", k.Thread)
		}
		checks[k.Thread] = k.Rev
	}
	if len(checks) == 0 {
		return errors.New("memrows: a change has no check")
	}
	put := make(map[string]bool)
	for i := range c.Puts {
		p := &c.Puts[i]
		id := p.Table.String() + " " + string(p.Bytes)
		_, checked := checks[p.Thread]
		deleted := func(d rows.Range) bool {
			return d.Table == p.Table && (d.To == nil && bytes.Equal(d.Bytes, p.Bytes) ||
				d.To != nil && bytes.Compare(d.Bytes, p.Bytes) <= 0 && bytes.Compare(p.Bytes, d.To) < 0)
		}
		switch {
		case put[id]:
			return fmt.Errorf("memrows: a change puts two rows %q", id)
		case len(p.Bytes) == 0 || len(p.Bytes) > rows.MaxKey:
			return fmt.Errorf("memrows: a change puts a row whose key has %d bytes", len(p.Bytes))
		case (len(p.Value) == 0) != (p.Table == rows.Index):
			return fmt.Errorf("memrows: a change puts a row %q with a value of %d bytes", id, len(p.Value))
		case (p.Thread == "") != (p.Table == rows.Index):
			return fmt.Errorf("memrows: a change puts a row %q of the thread %q", id, p.Thread)
		case (p.Columns != nil) != (p.Table == rows.Threads || p.Table == rows.States):
			return fmt.Errorf("memrows: a change puts a row %q with the columns %v", id, p.Columns)
		case p.Table == rows.Threads && (p.New || !checked || string(p.Bytes) != p.Thread):
			return fmt.Errorf("memrows: a change puts the row %q of a thread without a check", id)
		case p.New && slices.ContainsFunc(c.Deletes, deleted):
			return fmt.Errorf("memrows: a change deletes a row %q, and puts it as a new one", id)
		}
		put[id] = true
	}
	for thread, rev := range checks {
		if rev == 0 && !put[rows.Threads.String()+" "+thread] {
			return fmt.Errorf("memrows: a change checks that there is no thread %q, and does not put it", thread)
		}
	}
	for _, d := range c.Deletes {
		if d.Limit != 0 || d.Reverse {
			return fmt.Errorf("memrows: a change deletes a range of the table %s with the limit %d", d.Table, d.Limit)
		}
	}
	return nil
}

// Close does nothing: another Saver may use the same rows.
func (s *Store) Close() error { return nil }
