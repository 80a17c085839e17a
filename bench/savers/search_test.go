package savers_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// dims is the number of dimensions of the vectors of BenchmarkSearch.
var dims = flag.Int("dims", 384, "the dimensions of the vectors of BenchmarkSearch")

// BenchmarkSearch finds the 10 nearest of many items by HNSW. The baseline is a statement on the
// same index, which reads keys only.
func BenchmarkSearch(b *testing.B) {
	url := testenv.Pgvector(b)
	conn := must(pgx.Connect(b.Context(), url))(b)
	b.Cleanup(func() { _ = conn.Close(b.Context()) }) // the benchmark is over
	var database string
	if err := conn.QueryRow(b.Context(), "SELECT quote_ident(current_database())").Scan(&database); err != nil {
		b.Fatal(err)
	}
	// An index that does not fit in this memory takes many times as long to make.
	must(conn.Exec(b.Context(), "ALTER DATABASE "+database+" SET maintenance_work_mem = '1GB'"))(b)
	saver := closes(b, must(postgres.Open(b.Context(), url))(b))
	found := saver.Store()
	q := store.VectorQuery{Index: "text", Vector: randomVector()}
	q.Namespace, q.Limit = store.Namespace{"facts"}, 10
	for from := 0; from < *items; from += store.MaxOps {
		ops := make([]store.Op, store.MaxOps)
		for i := range ops {
			ops[i] = store.Op{
				Kind: store.OpPut, Namespace: q.Namespace, Key: fmt.Sprint(from + i),
				Vectors: []store.Vector{{Index: "text", Values: randomVector()}},
			}
		}
		must(found.Do(b.Context(), ops))(b)
	}
	// The index is made after the vectors were stored, which is faster.
	start := time.Now()
	must(found.Declare(b.Context(), store.VectorSpec{Name: "text", Model: "m", Dims: len(q.Vector)}))(b)
	b.Logf("the index of %d items was made in %s", *items, time.Since(start).Round(time.Second))
	must(conn.Exec(b.Context(), "ANALYZE"))(b) //nolint:misspell // it is spelled so
	must(conn.Exec(b.Context(), "SET hnsw.ef_search = 100"))(b)
	b.Run("graphgen", func(b *testing.B) {
		for b.Loop() {
			if hits, err := found.Search(b.Context(), q); err != nil || len(hits) != 10 {
				b.Fatalf("got %d items, %v, want 10", len(hits), err)
			}
		}
	})
	nearest := fmt.Sprintf(`SELECT pk FROM graph_vector WHERE name = 'text'
		ORDER BY (vec::public.vector(%d)) OPERATOR(public.<#>) $1::real[]::public.vector(%[1]d) LIMIT 10`, *dims)
	b.Run("baseline bare SQL", func(b *testing.B) {
		for b.Loop() {
			rows := must(conn.Query(b.Context(), nearest, q.Vector))(b)
			if keys := must(pgx.CollectRows(rows, pgx.RowTo[[]byte]))(b); len(keys) != 10 {
				b.Fatalf("got %d keys, want 10", len(keys))
			}
		}
	})
}

// randomVector returns a vector of a random direction, and about the length 1.
func randomVector() []float32 {
	v := make([]float32, *dims)
	for i := range v {
		v[i] = float32(rand.NormFloat64() / math.Sqrt(float64(*dims)))
	}
	return v
}
