package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func TestConcurrentPostsOfManyThreads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	sqltest.ManyPosts(t, func() (checkpoint.Saver, error) { return sqlite.Open(path) })
}

func TestInTx(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path)
	begin := beginning(t, s, path, "_txlock=immediate")
	sqltest.InTx(t, s, begin)
	sqltest.InTxRefused(t, s, begin())
	sqltest.InTxElsewhere(t, beginning(t, s, filepath.Join(t.TempDir(), "other.db"), "_txlock=immediate")())
}

// TestInTxAfterARead has a transaction that has read before another writer came between.
func TestInTxAfterARead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path)
	tx := beginning(t, s, path, "_txlock=deferred")()
	post := checkpoint.Post{Thread: "t", Graph: "test", Messages: []checkpoint.Message{{ID: "1", Kind: checkpoint.WakeMessage}}}
	if _, err := s.Post(t.Context(), post); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Post(post); !errors.Is(err, checkpoint.ErrUnavailable) {
		t.Errorf("post: got %v, want an error that is %v", err, checkpoint.ErrUnavailable)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}

// beginning returns a function that begins a transaction of a caller, and reads.
func beginning(t *testing.T, s *sqlite.Saver, path, mode string) func() sqltest.CallerTx {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path)+"&"+mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // what it stored was read
	return func() sqltest.CallerTx {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var tables int
		if err := tx.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			t.Fatal(err)
		}
		return sqltest.CallerTx{
			Post: func(posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
				return s.InTx(tx).Post(t.Context(), posts...)
			},
			Commit: tx.Commit, Rollback: tx.Rollback,
		}
	}
}
