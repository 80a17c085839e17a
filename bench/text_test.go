package bench

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// textOf returns a text of 20 words. One in 100 texts has a given word, more or less.
func textOf(random *rand.Rand) string {
	words := make([]string, 20)
	for i := range words {
		words[i] = fmt.Sprint("w", random.IntN(2000))
	}
	return strings.Join(words, " ")
}

// searched are the words of the search.
const searched = "w7 w77"

// BenchmarkTextSearch finds the 10 best of 10,000 items by two words. About 200 items have one of
// them. The baseline is FTS5, the full-text search of SQLite, in a file of its own, by the bare
// driver.
func BenchmarkTextSearch(b *testing.B) {
	dir := b.TempDir()
	saver, err := sqlite.Open(filepath.Join(dir, "store.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = saver.Close() })
	words := store.NewTextIndex("text", func(f *flow.Fact) []string { return []string{f.Text} })
	for name, backend := range map[string]store.Backend{"SQLite": saver.Store(), "memory": memory.NewStore()} {
		facts, err := store.NewCollection[flow.Fact](backend, store.Namespace{"facts"}, words)
		if err != nil {
			b.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for n := 0; n < stored; n += store.MaxOps {
			var batch store.Batch
			for i := range store.MaxOps {
				facts.QueuePut(&batch, factKey(n+i), flow.Fact{Text: textOf(random)})
			}
			if err := batch.Do(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("graphgen "+name, func(b *testing.B) {
			for b.Loop() {
				if found, err := facts.Search(b.Context(), words, searched); err != nil || len(found) != 10 {
					b.Fatalf("got %d items, %v, want 10", len(found), err)
				}
			}
		})
	}
	st := fullText(b, filepath.Join(dir, "bare.db"))
	b.Run("baseline FTS5", func(b *testing.B) {
		for b.Loop() {
			if n := selectFacts(b, st, "w7 OR w77"); n != 10 {
				b.Fatalf("got %d items, want 10", n)
			}
		}
	})
}

// fullText returns a statement that searches a file with the same texts.
func fullText(b *testing.B, path string) *sql.Stmt {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(b.Context(), "CREATE VIRTUAL TABLE doc USING fts5(text, value UNINDEXED)"); err != nil {
		b.Fatal(err)
	}
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range stored {
		f := flow.Fact{Text: textOf(random)}
		value, err := f.AppendWire(nil)
		if err == nil {
			_, err = tx.ExecContext(b.Context(), "INSERT INTO doc (text, value) VALUES (?, ?)", f.Text, value)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	st, err := db.PrepareContext(b.Context(), "SELECT value FROM doc WHERE doc MATCH ? ORDER BY rank LIMIT 10")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st
}
