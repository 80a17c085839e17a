package sqltest

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Fill stores the n threads of a Listing, each with a state of 1,000 bytes.
func Fill(tb testing.TB, store rows.Store, n int) {
	tb.Helper()
	fill(tb, store, n, func(i int, t *checkpoint.Thread, record checkpoint.ID) (more []checkpoint.ExportItem) {
		t.ID, t.Graph, t.Labels = fmt.Sprintf("thread-%06d", i), GraphOf(i), user(i)
		if i%100 == 99 {
			t.Status = checkpoint.Waiting
			question := checkpoint.Write{Base: record, Task: "a", Kind: checkpoint.Question, Payload: []byte("?")}
			more = append(more, checkpoint.ExportItem{Write: &question})
		}
		return more
	})
}

// FillEnded stores n threads of a graph that ended an hour ago or earlier.
func FillEnded(tb testing.TB, store rows.Store, graph, prefix string, n int) {
	tb.Helper()
	fill(tb, store, n, func(i int, t *checkpoint.Thread, _ checkpoint.ID) []checkpoint.ExportItem {
		t.ID, t.Graph, t.Updated = fmt.Sprintf("%s-%06d", prefix, i), graph, t.Updated.Add(-time.Hour)
		return nil
	})
}

// fill stores n threads, each with a state of 1,000 bytes. It makes them in memory, and puts their
// rows into store. about completes thread i, and returns its items after the record.
func fill(tb testing.TB, store rows.Store, n int, about func(i int, t *checkpoint.Thread, record checkpoint.ID) []checkpoint.ExportItem) {
	tb.Helper()
	mem, now := memrows.New(), time.Now()
	s := rows.New("sqltest", mem, rows.Options{})
	id := newID(tb)
	record := checkpoint.Record{ID: id, Seq: 1, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: make([]byte, 1000)}
	for i := range n {
		at := now.Add(-time.Duration(i) * time.Second)
		t := checkpoint.Thread{Status: checkpoint.Done, Created: at, Updated: at}
		more := about(i, &t, id)
		items := append([]checkpoint.ExportItem{{Thread: &t}, {Record: &checkpoint.NamespaceRecord{Record: record}}}, more...)
		if err := s.Import(tb.Context(), t.ID, each(items)); err != nil {
			tb.Fatal(err)
		}
	}
	Put(tb, store, mem)
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
}

// each yields items as an export does.
func each(items []checkpoint.ExportItem) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// Put puts all rows of a store into another, which has none of them. The columns for people are
// empty.
func Put(tb testing.TB, to, from rows.Store) {
	tb.Helper()
	var all []rows.Range
	for t := range rows.Tables {
		all = append(all, rows.Range{Key: rows.Key{Table: rows.Table(t)}, To: []byte{0xff}})
	}
	found, _, err := from.Read(tb.Context(), all...)
	if err != nil {
		tb.Fatal(err)
	}
	c, n := new(rows.Change), 0
	apply := func() {
		if _, _, err := to.Apply(tb.Context(), c); err != nil {
			tb.Fatal(err)
		}
		c = new(rows.Change)
	}
	for t := range found {
		for i := range found[t] {
			row := &found[t][i]
			key := rows.Key{Table: rows.Table(t), Bytes: row.Key}
			if key.Table == rows.Threads {
				key.Thread = string(row.Key)
				c.Checks = append(c.Checks, rows.Check{Thread: key.Thread})
			}
			c.Puts = append(c.Puts, rows.Put{Key: key, Value: row.Value, Columns: new(rows.Columns)})
			if n++; n%1000 == 0 {
				apply()
			}
		}
	}
	apply()
}
