package postgres_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// TestSearchByWordsReadsByIndex looks at the plan of a search among 5,000 items.
func TestSearchByWordsReadsByIndex(t *testing.T) {
	url := testenv.Postgres(t)
	b := items(t, url)
	var ops []store.Op
	for i := range 5_000 {
		words := []store.Word{{Word: "all", Count: 1}, {Word: fmt.Sprintf("x%03d", i%500), Count: 1}}
		ops = append(ops, store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{"facts", fmt.Sprint(i % 20)}, Key: fmt.Sprint(i),
			Texts: []store.Text{{Index: "text", Words: words}},
		})
		if len(ops) == store.MaxOps {
			if _, err := b.Do(t.Context(), ops); err != nil {
				t.Fatal(err)
			}
			ops = ops[:0]
		}
	}
	exec(t, url, "ANALYZE") //nolint:misspell // it is spelled so
	queries, err := sqlsaver.Queries(os.DirFS("queries"))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(queries, func(q sqlsaver.Query) bool { return q.Name == "store_words" })
	one := store.Namespace{"facts", "7"}.Append(nil)
	for _, word := range []string{"all", "x007"} {
		end := append(slices.Clone(one[:len(one)-1]), 2)
		rows, err := connect(t, url).Query(t.Context(), "EXPLAIN "+queries[at].Text, one, end, []byte("text"), []byte(word), int64(store.MaxCompared))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		plan := strings.Join(lines, "\n")
		if err != nil || !strings.Contains(plan, "graph_store_word_pkey") || !strings.Contains(plan, "word = ") || strings.Contains(plan, "Seq Scan on graph_store_word") {
			t.Errorf("the word %q: got %v and the plan\n%s\nwant the index by word", word, err, plan)
		}
	}
}
