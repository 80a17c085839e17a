package sqlite_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	driverof "modernc.org/sqlite"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// query returns the statement of a name in a file of queries.
func query(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("queries", file))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "-- name: "+name+"\n")
	if !found {
		t.Fatalf("%s has no statement %q", file, name)
	}
	statement, _, _ := strings.Cut(after, "\n\n")
	return statement
}

// TestReadyReadsFewRows counts the rows of threads that the statements of Ready visit, by a
// function that is part of their conditions. There are threads that are due, that are reserved and
// that sleep.
func TestReadyReadsFewRows(t *testing.T) {
	if testing.Short() {
		t.Skip("counts the rows of 2,000 threads; the conformance suite has the results of Ready")
	}
	const limit = 100
	n := 2_000
	if os.Getenv("GRAPHGEN_SOAK") != "" {
		n = 10_000
	}
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path)
	posts := make([]checkpoint.Post, 2*n) // half of them stay due
	for i := range posts {
		posts[i] = checkpoint.Post{
			Thread: fmt.Sprint(i), Graph: "g", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}},
			Priority: checkpoint.Priority(1 + i%checkpoint.Priorities),
		}
	}
	if _, err := s.Post(t.Context(), posts...); err != nil {
		t.Fatal(err)
	}
	for range n / limit {
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: limit, Reserve: time.Hour})
		if err != nil || len(got.Threads) != limit {
			t.Fatalf("got %d threads, %v, want %d", len(got.Threads), err, limit)
		}
	}
	var visited atomic.Int64
	// Each run of the test registers a name of its own, because a name can be registered once
	// only.
	function := fmt.Sprintf("visited_%d", time.Now().UnixNano())
	err := driverof.RegisterScalarFunction(function, 0, func(*driverof.FunctionContext, []driver.Value) (driver.Value, error) {
		visited.Add(1)
		return int64(1), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now().UnixMicro()
	for name, args := range map[string][]any{
		"ready":      {[]byte("g"), 1, limit},
		"lock_ready": {[]byte("g"), int(checkpoint.Low), 1, now, limit},
	} {
		text := strings.ReplaceAll(query(t, "ready.sql", name), "WHERE graph", "WHERE "+function+"() AND graph")
		visited.Store(0)
		rows, err := db.QueryContext(t.Context(), text, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }() // rows.Err says what was wrong
		found := int64(0)
		for rows.Next() {
			found++
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s visited %d rows for %d", name, visited.Load(), found)
		if found < limit || visited.Load() < found || visited.Load() > found+int64(checkpoint.Priorities) {
			t.Errorf("%s visited %d rows for %d, want about as many, and at least %d", name, visited.Load(), found, limit)
		}
	}
}
