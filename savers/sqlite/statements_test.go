package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
)

// TestStatements runs all statements of queries, and looks in their plans for those that read a
// whole table.
func TestStatements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	if _, err := open(t, path).Store().Sweep(t.Context(), 1); err != nil { // makes its tables
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, plan := range sqltest.Statements(t, db, "EXPLAIN QUERY PLAN") {
		read := strings.Join(plan, "\n")
		if name == "store_find_in" && !strings.Contains(read, "(namespace=? AND item_key>?)") {
			t.Errorf("%s does not seek the place after which a page begins:\n%s", name, read)
		}
		if name == "store_words" && !strings.Contains(read, "(name=? AND word=? AND namespace>? AND namespace<?)") {
			t.Errorf("%s does not seek a word in the namespaces:\n%s", name, read)
		}
		if (name == "ready" || name == "lock_ready") && (!strings.Contains(read, "INDEX graph_thread_wake (graph=? AND priority=? AND wake>?") || strings.Contains(read, "TEMP B-TREE")) {
			t.Errorf("%s does not read the due threads in order of the index:\n%s", name, read)
		}
		if name == "handle_mail" && !strings.Contains(read, "SEARCH graph_mail USING PRIMARY KEY (thread_no=? AND number=?)") {
			t.Errorf("%s does not seek each message of the list:\n%s", name, read)
		}
		for _, line := range plan {
			_, scanned, scans := strings.Cut(line, "SCAN ")
			scanned = strings.TrimSuffix(scanned, " LEFT-JOIN")
			small := scanned == "sqlite_master" || scanned == "CONSTANT ROW" || strings.Contains(read, "CO-ROUTINE "+scanned) ||
				strings.Contains(read, "MATERIALIZE "+scanned) || //nolint:misspell // as SQLite writes it
				strings.Contains(scanned, " VIRTUAL TABLE") // a bound list
			if scans && !small {
				t.Errorf("%s reads the whole of %s:\n%s", name, scanned, read)
			}
		}
	}
}

// TestNoLimitIsABareParameter checks the form of limits. SQLite plans a statement with LIMIT ?1
// for the bound value, so it compiles the statement again in each call. It does not for LIMIT +?1.
func TestNoLimitIsABareParameter(t *testing.T) {
	files, err := filepath.Glob("queries/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	bare := regexp.MustCompile(`(?i)limit\s+\?\d+`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range bare.FindAllString(string(text), -1) {
			t.Errorf("%s: got %q, which is compiled in each call; want a plus sign before the parameter", name, found)
		}
	}
}

func TestAPageOfItemsAllocatesLittle(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "store.db")).Store()
	ops := make([]store.Op, 100)
	for i := range ops {
		ops[i] = store.Op{Kind: store.OpPut, Namespace: store.Namespace{"users", "ada"}, Key: fmt.Sprint(i), Value: []byte("a value")}
	}
	if _, err := b.Do(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(10, func() {
		found, err := b.Find(t.Context(), store.Query{Namespace: store.Namespace{"users", "ada"}, Limit: len(ops)})
		if err != nil || len(found) != len(ops) {
			t.Fatalf("got %d items, %v; want %d", len(found), err, len(ops))
		}
	})
	if n > 17*float64(len(ops)) {
		t.Errorf("a page of %d items makes %v allocations, want at most 17 for each", len(ops), n)
	}
}
