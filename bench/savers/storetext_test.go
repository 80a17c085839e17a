package savers_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// textOf are the words of item n, at most five, in order. About 50 items have each word.
func textOf(n int) (words []string) {
	for i := range 5 {
		words = append(words, fmt.Sprint("w", (n*(i+1)+i*7919)%(*items/10)))
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// textVenues are backends, each with the full-text search of the same database by the driver
// alone: FTS5, and a tsvector with a GIN index.
var textVenues = []struct {
	name   string
	open   func(tb testing.TB) (store.Backend, *sql.DB)
	table  string
	insert string
	search string
	or     string // between two words
}{
	{
		"sqlite", func(tb testing.TB) (store.Backend, *sql.DB) {
			tb.Helper()
			dir := tb.TempDir()
			saver := closes(tb, must(sqlite.Open(filepath.Join(dir, "store.db")))(tb))
			path := "file:" + filepath.Join(dir, "bare.db") + "?_journal_mode=WAL&_synchronous=FULL"
			return saver.Store(), closes(tb, must(sql.Open("sqlite", path))(tb))
		},
		"CREATE VIRTUAL TABLE bare_text USING fts5(text, item_key UNINDEXED, value UNINDEXED)",
		"INSERT INTO bare_text (text, item_key, value) VALUES (?, ?, ?)",
		"SELECT item_key, value FROM bare_text WHERE bare_text MATCH ? ORDER BY rank LIMIT 10",
		" OR ",
	},
	{
		"postgres", func(tb testing.TB) (store.Backend, *sql.DB) {
			tb.Helper()
			url := testenv.StartPostgres(tb, true).DSN
			saver := closes(tb, must(postgres.Open(tb.Context(), url))(tb))
			return saver.Store(), closes(tb, must(sql.Open("pgx", url))(tb))
		},
		"CREATE TABLE bare_text (item_key bytea PRIMARY KEY, value bytea, words tsvector); CREATE INDEX bare_text_words ON bare_text USING GIN (words)",
		"INSERT INTO bare_text (words, item_key, value) VALUES (to_tsvector('simple', $1), $2, $3)",
		"SELECT item_key, value FROM bare_text WHERE words @@ to_tsquery('simple', $1) ORDER BY ts_rank(words, to_tsquery('simple', $1)) DESC LIMIT 10",
		" | ",
	},
}

// BenchmarkStoreText finds the 10 best of many items by two words, next to the full-text search of
// the database. The calls alternate.
func BenchmarkStoreText(b *testing.B) {
	for _, venue := range textVenues {
		b.Run(venue.name, func(b *testing.B) {
			backend, db := venue.open(b)
			must(db.ExecContext(b.Context(), venue.table))(b)
			for from := 0; from < *items; from += store.MaxOps {
				fillText(b, backend, db, venue.insert, from)
			}
			search := closes(b, must(db.Prepare(venue.search))(b))
			ours := func(ctx context.Context, n int) (int, error) {
				words := textOf(n)
				q := store.TextQuery{Index: "text", Words: words[:2]}
				q.Namespace, q.Exact, q.Limit = facts, true, 10
				found, err := backend.SearchText(ctx, q)
				return len(found), err
			}
			bare := func(ctx context.Context, n int) (int, error) {
				words := textOf(n)
				return countRows(ctx, search, words[0]+venue.or+words[1])
			}
			var times, base []time.Duration
			for n := 0; b.Loop(); {
				for range turn {
					n = (n + 7919) % *items
					times, base = append(times, timed(b, 10, n, ours)), append(base, timed(b, 10, n, bare))
				}
			}
			table = append(table, row{
				saver: venue.name, what: fmt.Sprintf("store of %d items: the 10 best by two words, compared with the database's own full-text search", *items),
				figure: least(times), base: least(base), format: micros,
			})
		})
	}
}

// fillText stores texts on both sides.
func fillText(b *testing.B, backend store.Backend, db *sql.DB, insert string, from int) {
	b.Helper()
	tx := must(db.BeginTx(b.Context(), nil))(b)
	st, err := tx.Prepare(insert)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	ops := make([]store.Op, store.MaxOps)
	for i := range ops {
		texts, value := textOf(from+i), fmt.Appendf(nil, "%0200d", from+i)
		words := make([]store.Word, 0, len(texts))
		for _, w := range texts {
			words = append(words, store.Word{Word: w, Count: 1})
		}
		ops[i] = store.Op{
			Kind: store.OpPut, Namespace: facts, Key: factKey(from + i), Value: value,
			Texts: []store.Text{{Index: "text", Words: words}},
		}
		must(st.ExecContext(b.Context(), strings.Join(texts, " "), []byte(factKey(from+i)), value))(b)
	}
	must(backend.Do(b.Context(), ops))(b)
	if err = tx.Commit(); err != nil {
		b.Fatal(err)
	}
}
