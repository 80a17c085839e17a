package memrows

import (
	"bytes"
	"math"
	"sync"

	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/tidwall/btree"
)

// Row is a row of a Map. Its value is that of the row, or the place where a Store has it.
type Row[V any] struct {
	Key   []byte
	Rev   uint64
	Value V
}

// Map keeps the rows of each table in the order of their keys: a B-tree for each table. A lookup
// and a put take time in proportion to the logarithm of the rows. It is safe for concurrent use.
type Map[V any] struct {
	mu     sync.RWMutex
	tables tables[V]
	key    []byte // a key to look up
}

// tables are the tables of a Map.
type tables[V any] [rows.Tables]*btree.BTreeG[Row[V]]

// NewMap returns an empty Map.
func NewMap[V any]() *Map[V] {
	m := new(Map[V])
	for i := range m.tables {
		m.tables[i] = btree.NewBTreeGOptions(func(a, b Row[V]) bool { return bytes.Compare(a.Key, b.Key) < 0 }, btree.Options{NoLocks: true})
	}
	return m
}

// Holds reports whether the Checks of c and the demands of its New puts hold. They still hold at
// an Apply if the caller prevents others meanwhile.
func (m *Map[V]) Holds(c *rows.Change) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range c.Checks {
		m.key = append(m.key[:0], c.Checks[i].Thread...)
		stored, _ := m.tables[rows.Threads].Get(Row[V]{Key: m.key})
		if stored.Rev != c.Checks[i].Rev { // the revision of a stored row is not 0
			return false
		}
	}
	for i := range c.Puts {
		if p := &c.Puts[i]; p.New {
			if _, found := m.tables[p.Table].Get(Row[V]{Key: p.Bytes}); found {
				return false
			}
		}
	}
	return true
}

// Apply makes the Deletes and the Puts of c, without its Checks and its Reads. rev is the revision
// of the rows that it puts, and value returns the value of c.Puts[i]. A reader sees all of it or
// nothing. The Map keeps the keys.
func (m *Map[V]) Apply(c *rows.Change, rev uint64, value func(i int) V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range c.Deletes {
		d := &c.Deletes[i]
		if table, from := m.tables[d.Table], (Row[V]{Key: d.Bytes}); d.To == nil {
			table.Delete(from)
		} else {
			table.DeleteRange(from, Row[V]{Key: d.To}, &btree.DeleteRangeOptions{NoReturn: true})
		}
	}
	for i := range c.Puts {
		p := &c.Puts[i]
		m.tables[p.Table].Set(Row[V]{p.Bytes, rev, value(i)})
	}
}

// mostLocked is how many rows a Read reads while changes wait.
const mostLocked = 1000

// Read returns what as makes of the rows of each range, in the order of ranges. All rows are from
// one moment. If there are many, Read reads them from a copy, while the Map changes: the copy
// shares all that does not change.
func Read[V, R any](m *Map[V], as func(Row[V]) R, ranges ...rows.Range) [][]R {
	m.mu.RLock()
	all, over := read(&m.tables, as, ranges, mostLocked)
	m.mu.RUnlock()
	if over {
		return all
	}
	var copied tables[V]
	m.mu.Lock()
	for i := range ranges {
		if t := ranges[i].Table; copied[t] == nil {
			copied[t] = m.tables[t].Copy()
		}
	}
	m.mu.Unlock()
	all, _ = read(&copied, as, ranges, math.MaxInt)
	return all
}

// read reads up to most rows; over is false if there are more.
func read[V, R any](from *tables[V], as func(Row[V]) R, ranges []rows.Range, most int) (all [][]R, over bool) {
	all = make([][]R, len(ranges))
	for i := range ranges {
		r := &ranges[i]
		table, pivot, found := from[r.Table], Row[V]{Key: r.Bytes}, all[i]
		take := func(row Row[V]) bool {
			most--
			found = append(found, as(row))
			return most >= 0 && len(found) != r.Limit
		}
		switch {
		case r.To == nil:
			if row, is := table.Get(pivot); is {
				take(row)
			}
		case r.Reverse:
			table.Descend(Row[V]{Key: r.To}, func(row Row[V]) bool {
				return bytes.Equal(row.Key, r.To) || bytes.Compare(row.Key, r.Bytes) >= 0 && take(row)
			})
		default:
			table.Ascend(pivot, func(row Row[V]) bool { return bytes.Compare(row.Key, r.To) < 0 && take(row) })
		}
		if most < 0 {
			return nil, false
		}
		all[i] = found
	}
	return all, true
}
