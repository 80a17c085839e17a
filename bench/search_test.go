package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A search has many vectors, as a small model of sentences makes them.
const (
	searchItems = 10_000
	searchDims  = 384
)

// randomVectors returns vectors of length 1.
func randomVectors(n int) [][]float32 {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([][]float32, n)
	for i := range all {
		v, sum := make([]float32, searchDims), 0.0
		for d := range v {
			v[d] = float32(random.NormFloat64())
			sum += float64(v[d]) * float64(v[d])
		}
		for d := range v {
			v[d] /= float32(math.Sqrt(sum))
		}
		all[i] = v
	}
	return all
}

var nearest float32 // so that the compiler keeps the baseline

// BenchmarkSearch finds the 10 nearest of 10,000 items. The baseline is a plain loop over the
// vectors.
func BenchmarkSearch(b *testing.B) {
	vectors := randomVectors(searchItems + 1)
	q := store.VectorQuery{Index: "text", Vector: vectors[searchItems]}
	q.Namespace, q.Limit = store.Namespace{"facts"}, 10
	s := memory.NewStore()
	for from := 0; from < searchItems; from += store.MaxOps {
		ops := make([]store.Op, store.MaxOps)
		for i := range ops {
			kind := "common"
			if i%100 == 0 {
				kind = "rare"
			}
			ops[i] = store.Op{
				Kind: store.OpPut, Namespace: q.Namespace, Key: fmt.Sprint(from + i),
				Index:   []store.Entry{{Index: "kind", Value: []byte(kind)}},
				Vectors: []store.Vector{{Index: "text", Values: vectors[from+i]}},
			}
		}
		if _, err := s.Do(b.Context(), ops); err != nil {
			b.Fatal(err)
		}
	}
	search := func(q store.VectorQuery) func(b *testing.B) {
		return func(b *testing.B) {
			b.Helper()
			for b.Loop() {
				if hits, err := s.Search(b.Context(), q); err != nil || len(hits) != 10 {
					b.Fatalf("got %d items, %v, want 10", len(hits), err)
				}
			}
		}
	}
	b.Run("graphgen", search(q))
	b.Run("baseline dot products", func(b *testing.B) {
		for b.Loop() {
			nearest = -2
			for _, v := range vectors[:searchItems] {
				nearest = max(nearest, dot(v, q.Vector))
			}
		}
	})
	rare := q
	rare.Where = []store.Condition{{Index: "kind", Ranges: []store.Range{{From: []byte("rare"), To: []byte("rare\x00")}}}}
	b.Run("graphgen, 1 in 100", search(rare))
	b.Run("baseline dot products, 1 in 100", func(b *testing.B) {
		for b.Loop() {
			nearest = -2
			for i := 0; i < searchItems; i += 100 {
				nearest = max(nearest, dot(vectors[i], q.Vector))
			}
		}
	})
}

func dot(a, b []float32) (sum float32) {
	b = b[:len(a)]
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
