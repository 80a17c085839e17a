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
	for _, op := range []store.Op{{Kind: store.OpDelete, Namespace: put.Namespace, Key: "k"}, put} {
		if _, err := b.Do(t.Context(), []store.Op{op}); err != nil {
			t.Fatal(err)
		}
	}
	const change = "UPDATE graph_entry SET data = CAST(substr(data, 1, length(data) - 1) AS BLOB) WHERE pk >= CAST('n' AS BLOB) AND pk < CAST('o' AS BLOB)"
	if _, err := db.ExecContext(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Search(t.Context(), q); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("search: got %v, want ErrDamaged", err)
	}
	if _, err := b.Do(t.Context(), []store.Op{{Kind: store.OpVectors, Namespace: put.Namespace, Key: "k"}}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("vectors: got %v, want ErrDamaged", err)
	}
}

// TestADamagedItemCanBeReplaced puts and deletes an item that cannot be read.
func TestADamagedItemCanBeReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	b := open(t, path).Store()
	put := store.Op{Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: "k", Value: []byte("value")}
	for _, kind := range []store.OpKind{store.OpPut, store.OpDelete} {
		first, err := b.Do(t.Context(), []store.Op{put})
		if err != nil {
			t.Fatal(err)
		}
		mustExecute(t, path, "UPDATE graph_item SET data = CAST(substr(data, 1, length(data) - 1) AS BLOB) WHERE substr(pk, 1, 1) = CAST('i' AS BLOB)")
		if _, err := b.Do(t.Context(), []store.Op{{Kind: store.OpGet, Namespace: put.Namespace, Key: "k"}}); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("get: got %v, want ErrDamaged", err)
		}
		op := put
		if op.Kind = kind; kind == store.OpDelete {
			op.Value = nil
		}
		if _, err := b.Do(t.Context(), []store.Op{op}); err != nil {
			t.Fatal(err)
		}
		got, err := b.Do(t.Context(), []store.Op{{Kind: store.OpGet, Namespace: put.Namespace, Key: "k"}})
		if err != nil || got[0].Found != (kind == store.OpPut) || got[0].Found && got[0].Record.Version <= first[0].Record.Version {
			t.Errorf("after %d: got %+v, %v, want the item of a put alone", kind, got, err)
		}
	}
}
