package rows_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Map is a Store in memory. It is as short as a Store can be, and slow: a Read looks at all rows.
type Map struct {
	mu   sync.Mutex
	rows [rows.Tables]map[string]rows.Row
	rev  uint64 // the newest revision
}

func NewMap() *Map {
	m := new(Map)
	for t := range m.rows {
		m.rows[t] = make(map[string]rows.Row)
	}
	return m
}

// selects reports whether r has a key, apart from its limit.
func selects(r *rows.Range, key []byte) bool {
	if r.To == nil {
		return bytes.Equal(key, r.Bytes)
	}
	return bytes.Compare(r.Bytes, key) <= 0 && bytes.Compare(key, r.To) < 0
}

func (m *Map) read(ranges []rows.Range) [][]rows.Row {
	all := make([][]rows.Row, len(ranges))
	for i := range ranges {
		r := &ranges[i]
		keys := slices.Sorted(maps.Keys(m.rows[r.Table]))
		if r.Reverse {
			slices.Reverse(keys)
		}
		for _, key := range keys {
			if !selects(r, []byte(key)) || r.Limit > 0 && len(all[i]) == r.Limit {
				continue
			}
			row, found := m.rows[r.Table][key]
			if r.Items > 0 {
				row, found = m.rows[rows.Items][key[r.Items:]]
			}
			if found {
				all[i] = append(all[i], row)
			}
		}
	}
	return all
}

func (m *Map) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(ranges), time.Now(), ctx.Err()
}

func (m *Map) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	for _, k := range c.Checks {
		if m.rows[k.Table][k.Thread].Rev != k.Rev { // 0 of a row that is not there
			return 0, nil, rows.ErrChanged
		}
	}
	for _, p := range c.Puts {
		if _, found := m.rows[p.Table][string(p.Bytes)]; found && p.New {
			return 0, nil, rows.ErrChanged
		}
	}
	for i := range c.Deletes {
		maps.DeleteFunc(m.rows[c.Deletes[i].Table], func(key string, _ rows.Row) bool { return selects(&c.Deletes[i], []byte(key)) })
	}
	m.rev++
	for _, p := range c.Puts {
		m.rows[p.Table][string(p.Bytes)] = rows.Row{Key: p.Bytes, Rev: m.rev, Value: p.Value}
	}
	return m.rev, m.read(c.Reads), nil
}

func (m *Map) Close() error { return nil }

// A Store in memory, and a Saver over it.
func Example() {
	ctx := context.Background()
	saver := rows.New("map", NewMap(), rows.Options{})
	posted, err := saver.Post(ctx, checkpoint.Post{
		Thread: "order 17", Graph: "orders", Messages: []checkpoint.Message{{ID: "1", Kind: checkpoint.InputMessage}},
	})
	if err != nil || posted[0].Err != nil {
		log.Fatal(err, posted)
	}
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Graph: "orders"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.ID, t.Status)
	}
	if err := saver.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: order 17 ready
}
