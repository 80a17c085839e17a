package postgres_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
)

// A filter that selects few items reads few rows, also on a table whose statistics say that all
// items are in one namespace. A page after another reads its own items only.
func TestFiltersAndPagesOfTheStoreReadFewRows(t *testing.T) {
	const n, kind, limit = 20_000, 10, 100
	dsn := testenv.Postgres(t)
	s := openCounted(t, dsn)
	if s == nil {
		return
	}
	b, ns := s.Store(), store.Namespace{"users", "ada"}
	item := func(i int) string { return fmt.Sprintf("item%08d", i) }
	kindOf := func(i int) []byte { return fmt.Appendf(nil, "kind%08d", i/kind) }
	for from := 0; from < n; from += store.MaxOps {
		ops := make([]store.Op, store.MaxOps)
		for i := range ops {
			ops[i] = store.Op{
				Kind: store.OpPut, Namespace: ns, Key: item(from + i), Value: []byte("value"),
				Index: []store.Entry{{Index: "kind", Value: kindOf(from + i)}},
				Texts: []store.Text{{Index: "text", Words: []store.Word{{Word: "all", Count: 1}, {Word: string(kindOf(from + i)), Count: 1}}}},
			}
		}
		if _, err := b.Do(t.Context(), ops); err != nil {
			t.Fatal(err)
		}
	}
	analyst := "analyst " + rand.Text()
	exec(t, named(t, dsn, analyst), "ANALYZE") //nolint:misspell // it is spelled so
	waitForEnd(t, s.conn, analyst)
	const query = `SELECT CAST((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = current_schema())
		+ (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = current_schema()) AS integer)`
	of := func(i int) []store.Condition {
		return []store.Condition{{Index: "kind", Ranges: []store.Range{{From: kindOf(i), To: append(kindOf(i), 0)}}}}
	}
	for _, c := range []struct {
		name string
		q    store.Query
		want int
		most int // rows and entries: an entry and a row of each item, and the statement may look at one more
	}{
		{"a filter", store.Query{Namespace: ns, Exact: true, Where: of(n / 2)}, kind, 4 * kind},
		{"a filter below a namespace", store.Query{Namespace: ns[:1], Where: of(n / 2)}, kind, 4 * kind},
		{"a filter after an item", store.Query{Namespace: ns[:1], Where: of(n / 2), After: &store.Position{Namespace: ns, Key: item(n/2 + 4)}}, kind - 5, 4 * kind},
		{"a page", store.Query{Namespace: ns, Exact: true, After: &store.Position{Namespace: ns, Key: item(n / 2)}}, limit, 2*limit + 2},
		{"a page below a namespace", store.Query{Namespace: ns[:1], After: &store.Position{Namespace: ns, Key: item(n / 2)}}, limit, 2*limit + 2},
	} {
		c.q.Limit = limit
		for range 10 { // a server can plan each of the first calls apart, and keep a plan for all values later
			before := s.count(t, query)
			got, err := b.Find(t.Context(), c.q)
			if err != nil || len(got) != c.want {
				t.Fatalf("%s: got %d items, %v, want %d", c.name, len(got), err, c.want)
			}
			if read := s.count(t, query) - before; read > c.most {
				t.Errorf("%s: read %d rows and entries, want at most %d", c.name, read, c.most)
				break
			}
		}
	}
	words := store.TextQuery{Index: "text", Words: []string{string(kindOf(n / 2)), "none"}}
	words.Namespace, words.Limit = ns, limit
	for range 10 {
		before := s.count(t, query)
		hits, err := b.SearchText(t.Context(), words)
		if err != nil || len(hits) != kind {
			t.Fatalf("a search for a word: got %d items, %v, want %d", len(hits), err, kind)
		}
		if read := s.count(t, query) - before; read > 4*kind { // of each: the row of the word, and the item twice
			t.Errorf("a search for a word: read %d rows and entries, want at most %d", read, 4*kind)
			break
		}
	}
}
