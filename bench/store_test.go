package bench

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// stored is the number of facts in a store. Ten of them have each kind.
const stored = 10_000

func fact(n int) flow.Fact { return flow.Fact{Kind: strconv.Itoa(n % (stored / 10)), Text: message} }

func factKey(n int) string { return fmt.Sprintf("%05d", n%stored) }

var kindOfFact = store.NewIndex("kind", func(f *flow.Fact) string { return f.Kind })

// factsOn returns a collection with the facts.
func factsOn(b *testing.B, backend store.Backend) *store.Collection[flow.Fact] {
	b.Helper()
	facts, err := store.NewCollection[flow.Fact](backend, store.Namespace{"facts"}, kindOfFact)
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < stored; n += 1000 {
		var batch store.Batch
		for i := range 1000 {
			facts.QueuePut(&batch, factKey(n+i), fact(n+i))
		}
		if err := batch.Do(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	return facts
}

// sqliteFacts returns a collection on SQLite, and the bare driver on another file with the same
// settings, whose table fact has the same data.
func sqliteFacts(b *testing.B) (*store.Collection[flow.Fact], *sql.DB) {
	b.Helper()
	dir := b.TempDir()
	saver, err := sqlite.Open(filepath.Join(dir, "store.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = saver.Close() })
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	for _, text := range []string{
		"CREATE TABLE fact (key BLOB PRIMARY KEY, kind BLOB, value BLOB) WITHOUT ROWID", "CREATE INDEX fact_kind ON fact (kind, key)",
	} {
		if _, err := db.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	return factsOn(b, saver.Store()), db
}

// fillBare stores the facts by the bare driver.
func fillBare(b *testing.B, db *sql.DB) {
	b.Helper()
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for n := range stored {
		if _, err := tx.ExecContext(b.Context(), putFact, factArgs(b, n)...); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

const putFact = "INSERT INTO fact (key, kind, value) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"

func factArgs(b *testing.B, n int) []any {
	b.Helper()
	f := fact(n)
	value, err := f.AppendWire(nil)
	if err != nil {
		b.Fatal(err)
	}
	return []any{[]byte(factKey(n)), []byte(f.Kind), value}
}

// selectFacts reads and decodes facts by the bare driver, and returns their number.
func selectFacts(b *testing.B, st *sql.Stmt, args ...any) (n int) {
	b.Helper()
	rows, err := st.QueryContext(context.Background(), args...)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value []byte
		var f flow.Fact
		if err := rows.Scan(&value); err != nil {
			b.Fatal(err)
		}
		if err := f.DecodeWire(value); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkStoreMemory gets and puts an item of 10,000 in memory. The baseline is a map with a
// lock that encodes and decodes.
func BenchmarkStoreMemory(b *testing.B) {
	facts := factsOn(b, memory.NewStore())
	var mu sync.RWMutex
	bare := make(map[string][]byte, stored)
	put := func(n int) {
		f := fact(n)
		value, err := f.AppendWire(nil)
		if err != nil {
			b.Fatal(err)
		}
		mu.Lock()
		bare[factKey(n)] = value
		mu.Unlock()
	}
	for n := range stored {
		put(n)
	}
	ctx, n := context.Background(), 0
	each := func(name string, f func(n int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f(n)
				n += 7
			}
		})
	}
	each("get graphgen", func(n int) {
		if _, err := facts.Get(ctx, factKey(n)); err != nil {
			b.Fatal(err)
		}
	})
	each("get baseline map", func(n int) {
		var f flow.Fact
		mu.RLock()
		value := bare[factKey(n)]
		mu.RUnlock()
		if err := f.DecodeWire(value); err != nil {
			b.Fatal(err)
		}
	})
	each("put graphgen", func(n int) {
		if _, err := facts.Put(ctx, factKey(n), fact(n)); err != nil {
			b.Fatal(err)
		}
	})
	each("put baseline map", put)
}

// BenchmarkStoreSQLite reads and writes 10,000 items on SQLite. The baseline is the bare driver
// with a table of its own, prepared statements and the same settings.
func BenchmarkStoreSQLite(b *testing.B) {
	facts, db := sqliteFacts(b)
	fillBare(b, db)
	statement := func(text string) *sql.Stmt {
		st, err := db.PrepareContext(b.Context(), text)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = st.Close() })
		return st
	}
	one, page, byKind, put := statement("SELECT value FROM fact WHERE key = ?"), statement("SELECT value FROM fact WHERE key > ? ORDER BY key LIMIT 100"),
		statement("SELECT value FROM fact WHERE kind = ? ORDER BY key LIMIT 100"), statement(putFact)
	ctx, n, writes := context.Background(), 0, 0
	each := func(name string, want int, f func(n int) int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := f(n); got != want {
					b.Fatalf("got %d items, want %d", got, want)
				}
				n = (n + 7) % (stored / 2)
			}
		})
	}
	count := func(s *store.Selection[flow.Fact], opts ...store.ListOption) (n int) {
		for _, err := range s.List(ctx, append(opts, store.Exact())...) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		return n
	}
	each("get graphgen", 1, func(n int) int {
		if _, err := facts.Get(ctx, factKey(n)); err != nil {
			b.Fatal(err)
		}
		return 1
	})
	each("get baseline driver", 1, func(n int) int { return selectFacts(b, one, []byte(factKey(n))) })
	each("page graphgen", 100, func(n int) int {
		return count(facts.Filter(), store.After(store.Namespace{"facts"}, factKey(n)), store.Limit(100))
	})
	each("page baseline driver", 100, func(n int) int { return selectFacts(b, page, []byte(factKey(n))) })
	each("filter graphgen", 10, func(n int) int {
		return count(facts.Filter(kindOfFact.Equal(fact(n).Kind)), store.Limit(100))
	})
	each("filter baseline driver", 10, func(n int) int { return selectFacts(b, byKind, []byte(fact(n).Kind)) })
	each("put graphgen", 1, func(n int) int {
		if _, err := facts.Put(ctx, factKey(n), fact(n)); err != nil {
			b.Fatal(err)
		}
		return 1
	})
	each("put baseline driver", 1, func(n int) int {
		args := factArgs(b, n)
		writes++
		// SQLite writes nothing if the value stays, and an item of the store has a version.
		args[2] = strconv.AppendInt(args[2].([]byte), int64(writes), 10)
		if _, err := put.ExecContext(ctx, args...); err != nil {
			b.Fatal(err)
		}
		return 1
	})
}
