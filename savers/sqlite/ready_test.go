package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// reading is a database that counts the statements that read, and their rows.
type reading struct {
	sqlsaver.DB
	statements, rows atomic.Int64
}

func (r *reading) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	r.statements.Add(1)
	rows, err := r.DB.Query(ctx, text, args...)
	return &readingRows{rows, &r.rows}, err
}

type readingRows struct {
	sqlsaver.Rows
	n *atomic.Int64
}

func (r *readingRows) Next() bool {
	more := r.Rows.Next()
	if more {
		r.n.Add(1)
	}
	return more
}

// TestReadyReadsFewRows counts what Ready reads among threads that are due, that are reserved and
// that sleep.
func TestReadyReadsFewRows(t *testing.T) {
	const n, limit = 2_000, 10
	path := filepath.Join(t.TempDir(), "threads.db")
	counted := new(reading)
	s := open(t, path, sqlite.Synchronous(sqlite.Normal), sqlite.WrapDB(func(db sqlsaver.DB) sqlsaver.DB {
		counted.DB = db
		return counted
	}))
	posts := make([]checkpoint.Post, n)
	for i := range posts {
		posts[i] = checkpoint.Post{
			Thread: fmt.Sprint(i), Graph: "g", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}},
			Priority: checkpoint.Priority(1 + i%checkpoint.Priorities),
		}
	}
	if _, err := s.Post(t.Context(), posts...); err != nil {
		t.Fatal(err)
	}
	// An entry of the index and the thread, for a thread more than the limit. The limit of a
	// statement is a power of two.
	const most = int64(2 * 16 * checkpoint.Priorities)
	for range 20 {
		counted.statements.Store(0)
		counted.rows.Store(0)
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: limit, Reserve: time.Hour})
		if err != nil || len(got.Threads) != limit {
			t.Fatalf("got %d threads, %v, want %d", len(got.Threads), err, limit)
		}
		if statements, rows := counted.statements.Load(), counted.rows.Load(); statements != 2 || rows > most {
			t.Errorf("Ready read %d rows by %d statements for %d threads, want at most %d rows by 2", rows, statements, limit, most)
		}
	}
}
