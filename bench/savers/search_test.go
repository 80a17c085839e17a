package savers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// BenchmarkSearch finds the 10 nearest of 10,000 items of 384 dimensions by HNSW. The baseline is
// a statement on the same index, which reads keys only.
func BenchmarkSearch(b *testing.B) {
	url := testenv.Pgvector(b)
	saver := closes(b, must(postgres.Open(b.Context(), url))(b))
	items := saver.Store()
	q := store.VectorQuery{Index: "text", Vector: randomVector()}
	q.Namespace, q.Limit = store.Namespace{"facts"}, 10
	for from := 0; from < 10_000; from += store.MaxOps {
		ops := make([]store.Op, store.MaxOps)
		for i := range ops {
			ops[i] = store.Op{
				Kind: store.OpPut, Namespace: q.Namespace, Key: fmt.Sprint(from + i),
				Vectors: []store.Vector{{Index: "text", Values: randomVector()}},
			}
		}
		must(items.Do(b.Context(), ops))(b)
	}
	// The index is made after the vectors were stored, which is faster.
	must(items.Declare(b.Context(), store.VectorSpec{Name: "text", Model: "m", Dims: len(q.Vector)}))(b)
	conn := must(pgx.Connect(b.Context(), url))(b)
	b.Cleanup(func() { _ = conn.Close(b.Context()) }) // the benchmark is over
	must(conn.Exec(b.Context(), "ANALYZE"))(b)        //nolint:misspell // it is spelled so
	must(conn.Exec(b.Context(), "SET hnsw.ef_search = 100"))(b)
	b.Run("graphgen", func(b *testing.B) {
		for b.Loop() {
			if hits, err := items.Search(b.Context(), q); err != nil || len(hits) != 10 {
				b.Fatalf("got %d items, %v, want 10", len(hits), err)
			}
		}
	})
	b.Run("baseline bare SQL", func(b *testing.B) {
		for b.Loop() {
			rows := must(conn.Query(b.Context(), `SELECT item_key FROM graph_store_vector WHERE name = '\x74657874'::bytea
				ORDER BY vec::public.vector(384) OPERATOR(public.<#>) $1::real[]::public.vector(384) LIMIT 10`, q.Vector))(b)
			if keys := must(pgx.CollectRows(rows, pgx.RowTo[[]byte]))(b); len(keys) != 10 {
				b.Fatalf("got %d keys, want 10", len(keys))
			}
		}
	})
}

// randomVector returns a vector of a random direction, and about the length 1.
func randomVector() []float32 {
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32(rand.NormFloat64() / 19.6)
	}
	return v
}
