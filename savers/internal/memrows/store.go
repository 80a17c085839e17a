// Package memrows keeps rows in ordered maps, in the memory of the process.
package memrows

import (
	"context"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// Store is a rows.Store in memory. Several Savers of one process may use it. Its clock is that of
// package time.
type Store struct {
	m *Map[[]byte]

	changes sync.Mutex // one change at a time
	rev     uint64     // the newest revision; changes guards it
}

var _ rows.Store = (*Store)(nil)

// New returns an empty Store.
func New() *Store { return &Store{m: NewMap[[]byte]()} }

// Read returns the rows of ranges, and the time of package time.
func (s *Store) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	return s.read(ranges), time.Now(), nil
}

// read returns the rows of ranges.
func (s *Store) read(ranges []rows.Range) [][]rows.Row {
	return Read(s.m, func(r Row[[]byte]) rows.Row { return rows.Row(r) }, ranges...)
}

// Apply stores c. It keeps the keys and the values of c.
func (s *Store) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	if !s.m.Holds(c) {
		return 0, nil, rows.ErrChanged
	}
	s.rev++
	s.m.Apply(c, s.rev, func(i int) []byte { return c.Puts[i].Value })
	return s.rev, s.read(c.Reads), nil
}

// Close does nothing: another Saver may use the same rows.
func (s *Store) Close() error { return nil }
