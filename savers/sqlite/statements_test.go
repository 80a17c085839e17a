package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/savertest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// TestStatements runs all statements of queries, and looks in their plans for those that read a
// whole table. TestStatementsOnRows does so for those that the program makes.
func TestStatements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	open(t, path)
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, plan := range sqltest.Statements(t, db, "EXPLAIN QUERY PLAN") {
		read := strings.Join(plan, "\n")
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

// texts has the statements that connections compile.
type texts struct {
	mu   sync.Mutex
	all  map[string]bool
	many []string // those that a connection has compiled before
}

// textsOf makes connections whose statements are noted.
type textsOf struct {
	driver.Connector
	d *texts
}

func (c *textsOf) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return &textsConn{conn, c.d, map[string]bool{}}, err
}

// textsConn is a connection whose statements are noted.
type textsConn struct {
	driver.Conn
	d    *texts
	mine map[string]bool
}

func (c *textsConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if strings.Contains(text, "pk") && !strings.Contains(text, "CREATE") { // else it is of the store or of the schema
		c.d.mu.Lock()
		if c.mine[text] {
			c.d.many = append(c.d.many, text)
		}
		c.mine[text], c.d.all[text] = true, true
		c.d.mu.Unlock()
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
}

func (c *textsConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

// TestStatementsOnRows asks for the plans of the statements of a life of a thread. All of them
// must seek their rows by the key, and sort none.
func TestStatementsOnRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	noted := &texts{all: map[string]bool{}}
	opts := []sqlite.Option{
		sqlite.Packing(pack.Policy{Every: 2, Keep: 1, AtOnce: true}), sqlite.Readers(1),
		sqlite.WrapConnector(func(c driver.Connector) driver.Connector { return &textsOf{c, noted} }),
	}
	sqltest.Some(t, []string{"random calls match the memory saver"}, func(testing.TB) savertest.Storage {
		return savertest.Storage{Open: func() (checkpoint.Saver, error) { return sqlite.Open(path, opts...) }}
	})
	s := open(t, path, opts...)
	var head checkpoint.ID
	var err error
	for n := range 5 {
		if head, err = packtest.Turn(t.Context(), n, head, s); err != nil {
			t.Fatal(err)
		}
	}
	packtest.Same(t, s, s)
	if _, err := s.Prune(t.Context(), "t", checkpoint.Retention{Last: 2}); err != nil {
		t.Fatal(err)
	}
	db := database(t, path)
	for text := range noted.all {
		rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		defer func() { _ = rows.Close() }() // Err says what was wrong
		for rows.Next() {
			var id, parent, unused int
			var line string
			if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
				t.Fatal(err)
			}
			whole := strings.HasPrefix(line, "SCAN ") && line != "SCAN CONSTANT ROW" && !strings.HasPrefix(line, "SCAN t") && !strings.Contains(line, "VALUES CLAUSE")
			if whole || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s\nreads a whole table, or sorts: %s", text, line)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if len(noted.many) > 0 {
		t.Errorf("connections compiled %d statements again, the first of them %s; want each prepared once", len(noted.many), noted.many[0])
	}
	if len(noted.all) < 20 {
		t.Errorf("noted %d statements, want more", len(noted.all))
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
