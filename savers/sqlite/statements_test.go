package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
)

// TestStatements runs all statements of queries, and looks in their plans for those that read a
// whole table.
func TestStatements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	open(t, path)
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, plan := range sqltest.Statements(t, db, "EXPLAIN QUERY PLAN") {
		read := strings.Join(plan, "\n")
		if name == "store_find" && !strings.Contains(read, "(namespace,item_key)>(?,?)") {
			t.Errorf("%s does not seek the place after which a page begins:\n%s", name, read)
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
