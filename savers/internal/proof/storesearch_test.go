//go:build unix

package proof_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// storeSpec is the vector index of the numbers.
func storeSpec() store.VectorSpec { return store.VectorSpec{Name: storeIndex, Model: "proof", Dims: 2} }

// storeVectors returns the vector of a number. Those of numbers near to each other differ much.
func storeVectors(n int) []store.Vector {
	sin, cos := math.Sincos(2.399963 * float64(n))
	return []store.Vector{{Index: storeIndex, Hash: [16]byte{byte(n)}, Values: []float32{float32(cos), float32(sin)}}}
}

// storeWord is the word of a number. Each item has it, and the word item.
func storeWord(n int) string { return fmt.Sprint("batch", n) }

func storeTexts(n int) []store.Text {
	return []store.Text{{Index: storeIndex, Words: []store.Word{{Word: storeWord(n), Count: 1}, {Word: "item", Count: 2}}}}
}

// storeLife is how long items of a batch live; 0 is for ever.
func storeLife(n int) time.Duration { return time.Duration(n%2) * 1000 * time.Hour }

// life returns how long an item lives after it was written; 0 is for ever.
func life(r *store.Record) time.Duration {
	if r.Expires.IsZero() {
		return 0
	}
	return r.Expires.Sub(r.Updated)
}

// checkVectors fails unless each item of a writer has the vector of batch n, and a deleted one has
// none.
func checkVectors(t *testing.T, s store.Backend, writer string, n int) {
	t.Helper()
	ops := storeBatch(writer, n)
	for i := range ops {
		ops[i] = store.Op{Kind: store.OpVectors, Namespace: ops[i].Namespace, Key: ops[i].Key}
	}
	results, err := s.Do(t.Context(), ops)
	if err != nil {
		t.Fatal(err)
	}
	for i, op := range storeBatch(writer, n) {
		same := slices.EqualFunc(results[i].Record.Vectors, op.Vectors, func(a, b store.Vector) bool {
			return a.Index == b.Index && a.Hash == b.Hash && slices.Equal(a.Values, b.Values)
		})
		if !same {
			t.Errorf("batch %d: %s has the vectors %+v, want %+v", n, op.Key, results[i].Record.Vectors, op.Vectors)
		}
	}
}

// checkSearches fails unless searches by the vector and the words of batch n find each item of a
// writer once. Searches by the word of the batch before must find none.
func checkSearches(t *testing.T, s store.Backend, writer string, n int) {
	t.Helper()
	in := store.Query{Namespace: store.Namespace{writer}, Limit: 100}
	near, err := s.Search(t.Context(), store.VectorQuery{Query: in, Index: storeIndex, Vector: storeVectors(n)[0].Values})
	if err != nil {
		t.Fatal(err)
	}
	words := func(words ...string) []store.Hit {
		t.Helper()
		hits, err := s.SearchText(t.Context(), store.TextQuery{Query: in, Index: storeIndex, Words: words})
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	for what, hits := range map[string][]store.Hit{
		"the vector": near, "the word": words(storeWord(n)), "both words": words(storeWord(n), "item"),
	} {
		if want := storeItems + 1 - n%2; len(hits) != want {
			t.Errorf("batch %d: a search by %s finds %d items, want %d", n, what, len(hits), want)
		}
		for _, h := range hits {
			if what == "the vector" && math.Abs(h.Score-1) > 1e-3 {
				t.Errorf("batch %d: %s has the score %v, want 1", n, h.Key, h.Score)
			}
		}
	}
	if hits := words(storeWord(n - 1)); len(hits) != 0 {
		t.Errorf("batch %d: a search by the word of the batch before finds %d items, want none", n, len(hits))
	}
}
