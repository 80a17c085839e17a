package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// Statements runs every statement of the folder queries, below the package under test, on a
// database that has a saver's tables. Each must bind as many values as its comment names, return
// the columns that its comment names, and, unless it drops tables, have a plan. Statements returns
// the lines of the plans by name. explain is what a plan is asked for with.
func Statements(t *testing.T, db *sql.DB, explain string) map[string][]string {
	t.Helper()
	queries, err := sqlsaver.Queries(os.DirFS("queries"))
	if err != nil || len(queries) == 0 {
		t.Fatalf("got %d statements, %v; want some", len(queries), err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // it was only looked at
	slices.SortStableFunc(queries, dropsLast)
	plans := make(map[string][]string)
	for i := range queries {
		q := &queries[i]
		t.Run(q.Name, func(t *testing.T) {
			bound(t, conn, q)
			if !drops(q) {
				_, plans[q.Name] = execute(t, conn, explain+" "+q.Text, q.Parameters)
			}
			if got, _ := execute(t, conn, q.Text, q.Parameters); !slices.Equal(got, q.Returns) {
				t.Errorf("it returns the columns %q, want those of its comment: %q", got, q.Returns)
			}
		})
	}
	return plans
}

// drops reports whether a statement drops tables or functions.
func drops(q *sqlsaver.Query) bool { return strings.HasPrefix(q.Text, "DROP") }

// dropsLast orders the statements that drop tables after all others.
func dropsLast(a, b sqlsaver.Query) int {
	switch {
	case drops(&a) == drops(&b):
		return 0
	case drops(&a):
		return 1
	}
	return -1
}

// bound compares how many values the server wants for a statement with its comment. Some
// drivers do not know.
func bound(t *testing.T, conn *sql.Conn, q *sqlsaver.Query) {
	t.Helper()
	err := conn.Raw(func(c any) error {
		preparer, ok := c.(driver.ConnPrepareContext)
		if !ok {
			return fmt.Errorf("%T prepares no statements", c)
		}
		st, err := preparer.PrepareContext(t.Context(), q.Text)
		if err != nil {
			return err
		}
		if got := st.NumInput(); got >= 0 && got != len(q.Parameters) {
			t.Errorf("it binds %d values, want those of its comment: %q", got, q.Parameters)
		}
		return st.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// execute runs a statement in a transaction that it rolls back, and returns the columns and the
// rows.
func execute(t *testing.T, conn *sql.Conn, text string, parameters []string) (columns, lines []string) {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing is kept
	args := make([]any, len(parameters))
	for i := range args {
		args[i] = int64(1)
	}
	columns, lines, err = rowsOf(t.Context(), tx, text, args)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return columns, lines
}

// rowsOf runs a statement, and returns its columns and its rows as text.
func rowsOf(ctx context.Context, tx *sql.Tx, text string, args []any) (columns, lines []string, err error) {
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }() // Err says what was wrong
	if columns, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, nil, err
		}
		lines = append(lines, line(values))
	}
	return columns, lines, rows.Err()
}

// line returns the values of a row, with spaces between them.
func line(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, " ")
}
