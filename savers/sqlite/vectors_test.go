package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func TestDamagedVectorsAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	saver, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer saver.Close()
	b := saver.Store()
	if _, err := b.Declare(t.Context(), store.VectorSpec{Name: "text", Model: "m", Dims: 2}); err != nil {
		t.Fatal(err)
	}
	put := store.Op{
		Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: "k",
		Vectors: []store.Vector{{Index: "text", Values: []float32{1, 0}}},
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	q := store.VectorQuery{Index: "text", Vector: []float32{1, 0}}
	q.Limit = 1
	for _, c := range []struct {
		change                string
		searchFails, getFails bool
	}{
		{"vec = x'0000803f'", true, false}, // one dimension
		{"vec = x'0000803f00'", true, true},
		{"vec = x''", true, false},
		{"hash = x'00'", false, true},
	} {
		for _, op := range []store.Op{{Kind: store.OpDelete, Namespace: put.Namespace, Key: "k"}, put} {
			if _, err := b.Do(t.Context(), []store.Op{op}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE graph_store_vector SET "+c.change); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Search(t.Context(), q); errors.Is(err, store.ErrDamaged) != c.searchFails {
			t.Errorf("%s: search: got %v, want ErrDamaged: %t", c.change, err, c.searchFails)
		}
		_, err := b.Do(t.Context(), []store.Op{{Kind: store.OpVectors, Namespace: put.Namespace, Key: "k"}})
		if errors.Is(err, store.ErrDamaged) != c.getFails {
			t.Errorf("%s: vectors: got %v, want ErrDamaged: %t", c.change, err, c.getFails)
		}
	}
}
