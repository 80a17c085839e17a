package sqlite_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// TestTheLargestBatchesAreRead reads as many items as a call can, with large values and many
// vectors. A statement of SQLite has a limited number of parts and of bound values.
func TestTheLargestBatchesAreRead(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "store.db")).Store()
	if _, err := b.Declare(t.Context(), store.VectorSpec{Name: "text", Model: "m", Dims: 1}); err != nil {
		t.Fatal(err)
	}
	ns := store.Namespace{"n"}
	puts, gets := make([]store.Op, store.MaxOps), make([]store.Op, store.MaxOps)
	for i := range puts {
		vectors := make([]store.Vector, store.MaxVectors/2)
		for j := range vectors {
			vectors[j] = store.Vector{Index: "text", Values: []float32{1}}
		}
		puts[i] = store.Op{
			Kind: store.OpPut, Namespace: ns, Key: fmt.Sprintf("%04d", i), Value: bytes.Repeat([]byte{1}, 4096), Vectors: vectors, Once: "once",
		}
		gets[i] = store.Op{Kind: store.OpGet, Namespace: ns, Key: puts[i].Key}
	}
	if _, err := b.Do(t.Context(), puts); err != nil {
		t.Fatal(err)
	}
	got, err := b.Do(t.Context(), gets)
	if err != nil || len(got[len(got)-1].Record.Value) != 4096 {
		t.Errorf("gets: %v", err)
	}
	for i := range gets {
		gets[i].Kind = store.OpVectors
	}
	if got, err = b.Do(t.Context(), gets); err != nil || len(got[len(got)-1].Record.Vectors) != store.MaxVectors/2 {
		t.Errorf("vectors: %v", err)
	}
	q := store.Query{Namespace: ns, Limit: store.MaxPage}
	if found, err := b.Find(t.Context(), q); err != nil || len(found) != store.MaxPage || len(found[0].Value) != 4096 {
		t.Errorf("find: got %d items, %v", len(found), err)
	}
	if hits, err := b.Search(t.Context(), store.VectorQuery{Query: q, Index: "text", Vector: []float32{1}}); err != nil || len(hits) != store.MaxPage {
		t.Errorf("search: got %d items, %v", len(hits), err)
	}
}
