package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// rowSaver is a rows.Saver on the connections of a Saver.
type rowSaver struct {
	*rows.Saver
	s *Saver
}

func (r rowSaver) Close() error { return errors.Join(r.Saver.Close(), r.s.Close()) }

// openRows opens a rows.Saver in a file, whose tables it makes.
func openRows(path string, packing pack.Policy, opts ...Option) (checkpoint.Saver, error) {
	s, err := Open(path, opts...)
	if err != nil {
		return nil, err
	}
	if err := makeRows(path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	store := sqlsaver.NewRowStore(s.Saver, &sqlsaver.Syntax{
		Place:  func(n int) string { return fmt.Sprint("?", n) },
		Upsert: " ON CONFLICT (pk) DO UPDATE SET data = excluded.data",
		Ignore: " ON CONFLICT DO NOTHING",
	})
	return rowSaver{rows.New("sqlite", store, rows.Options{Packing: packing}), s}, nil
}

// makeRows makes the tables of rows in a file.
func makeRows(path string) (err error) {
	db, err := sql.Open("sqlite", fileURL(path, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for t := range rows.Tables {
		columns := ", data BLOB NOT NULL"
		switch rows.Table(t) {
		case rows.Threads:
			columns += ", rev INTEGER NOT NULL, graph TEXT NOT NULL, title TEXT NOT NULL, status INTEGER NOT NULL," +
				" created INTEGER NOT NULL, updated INTEGER NOT NULL, wake INTEGER NOT NULL"
		case rows.Index:
			columns = ""
		}
		text := fmt.Sprintf("CREATE TABLE IF NOT EXISTS graph_row_%v (pk BLOB NOT NULL PRIMARY KEY%s) WITHOUT ROWID", rows.Table(t), columns)
		if _, err := db.ExecContext(context.Background(), text); err != nil {
			return err
		}
	}
	return nil
}

// rowStorage is a place for rows, which a test may damage.
func rowStorage(tb testing.TB, packing pack.Policy) savertest.Storage {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "threads.db")
	change := func(text string, args ...any) (int64, error) {
		db, err := sql.Open("sqlite", fileURL(path, nil))
		if err != nil {
			return 0, err
		}
		defer db.Close()
		done, err := db.ExecContext(context.Background(), text, args...)
		if err != nil {
			return 0, err
		}
		return done.RowsAffected()
	}
	return savertest.Storage{
		Shared: true,
		Open:   func() (checkpoint.Saver, error) { return openRows(path, packing) },
		Damage: func(string) error {
			_, err := change("UPDATE graph_row_write SET data = x'7f'")
			return err
		},
		Alter: func(tb testing.TB, stored, altered []byte) (n int) {
			tb.Helper()
			for _, table := range []string{"graph_row_record", "graph_row_write"} {
				found, err := change("UPDATE "+table+" SET data = unhex(replace(hex(data), hex(?1), hex(?2))) WHERE instr(data, ?1) > 0", stored, altered)
				if err != nil {
					tb.Fatal(err)
				}
				n += int(found)
			}
			return n
		},
	}
}

func TestRowsConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("the protocol of rows runs on rows in memory")
	}
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		return rowStorage(tb, pack.Policy{})
	})
}

func TestRowsConformancePacked(t *testing.T) {
	if testing.Short() {
		t.Skip("packs are the same on every store: see the store in memory")
	}
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		return rowStorage(tb, pack.Policy{Every: 2, Keep: 1, AtOnce: true})
	})
}

func TestRowsPackAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	packtest.PacksAgain(t, func(tb testing.TB) checkpoint.Saver {
		tb.Helper()
		s, err := openRows(path, pack.Policy{})
		if err != nil {
			tb.Fatal(err)
		}
		return s
	})
}

// BenchmarkRows compares calls of a rows.Saver with those of a Saver, on files whose writes reach
// the disk later.
func BenchmarkRows(b *testing.B) {
	for _, side := range []struct {
		name string
		open func(path string) (checkpoint.Saver, error)
	}{
		{"today", func(path string) (checkpoint.Saver, error) { return Open(path, Synchronous(Normal)) }},
		{"rows", func(path string) (checkpoint.Saver, error) { return openRows(path, pack.Policy{}, Synchronous(Normal)) }},
	} {
		s, err := side.open(filepath.Join(b.TempDir(), "threads.db"))
		if err != nil {
			b.Fatal(err)
		}
		r := rowBench{b, s, side.name}
		r.commits()
		r.threads()
		r.ready()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// rowBench runs benchmarks on one saver.
type rowBench struct {
	b    *testing.B
	s    checkpoint.Saver
	name string
}

func (r rowBench) id() checkpoint.ID {
	id, err := checkpoint.NewID()
	if err != nil {
		r.b.Fatal(err)
	}
	return id
}

// opens stores the first record of a thread, and returns its id.
func (r rowBench) opens(thread string) checkpoint.ID {
	id := r.id()
	_, err := r.s.Append(r.b.Context(), checkpoint.Append{
		Thread: thread, Open: &checkpoint.Opening{Holder: "host 1234", Labels: map[string]string{"customer": thread[len(thread)-1:]}},
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: "orders", Snapshot: true, Payload: []byte{0x80}}},
	})
	if err != nil {
		r.b.Fatal(err)
	}
	return id
}

// commit appends a record of 200 bytes, and returns it.
func (r rowBench) commit(thread string, fence, head checkpoint.ID, end bool) checkpoint.ID {
	id := r.id()
	a := checkpoint.Append{Thread: thread, After: head, Fence: fence, End: end, Records: []checkpoint.Record{{
		ID: id, Parent: head, Base: id, Line: fence, Commits: head, Source: checkpoint.Loop, Ran: []string{"first"}, Created: time.Now(), Graph: "orders",
		Due: []checkpoint.Task{{Node: "first"}}, Payload: make([]byte, 200),
	}}}
	if end {
		a.Status = checkpoint.Ready
		a.Wake = time.Now()
	}
	if _, err := r.s.Append(r.b.Context(), a); err != nil {
		r.b.Fatal(err)
	}
	return id
}

func (r rowBench) commits() {
	r.b.Run("commit/"+r.name, func(b *testing.B) {
		thread := fmt.Sprint("commits ", b.N)
		fence := r.opens(thread)
		head := fence
		for b.Loop() {
			head = r.commit(thread, fence, head, false)
		}
	})
}

func (r rowBench) threads() {
	n := 0
	r.b.Run("opening and end/"+r.name, func(b *testing.B) {
		for b.Loop() {
			n++
			thread := fmt.Sprint("thread ", n)
			fence := r.opens(thread)
			r.commit(thread, fence, fence, true)
		}
	})
	r.b.Run("load/"+r.name, func(b *testing.B) {
		for b.Loop() {
			if _, err := r.s.Load(b.Context(), checkpoint.Ref{Thread: "thread 1"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	r.b.Run("list/"+r.name, func(b *testing.B) {
		for b.Loop() {
			for _, err := range r.s.Threads(b.Context(), checkpoint.ThreadQuery{Graph: "orders", Limit: 100}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func (r rowBench) ready() {
	r.b.Run("ready/"+r.name, func(b *testing.B) {
		for b.Loop() {
			if _, err := r.s.Ready(b.Context(), checkpoint.ReadyQuery{Graphs: []string{"orders"}, Limit: 6, Reserve: time.Hour}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
