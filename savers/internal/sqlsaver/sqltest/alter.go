package sqltest

import (
	"database/sql"
	"fmt"
	"testing"
)

// Alter runs an UPDATE that replaces bytes in the column data of table %s. It runs it for the
// tables of records and of pending writes, and returns how many rows it changed.
func Alter(tb testing.TB, db *sql.DB, update string, args ...[]byte) (places int) {
	tb.Helper()
	values := make([]any, len(args))
	for i := range args {
		values[i] = args[i]
	}
	for _, table := range []string{"graph_record", "graph_write"} {
		result, err := db.ExecContext(tb.Context(), fmt.Sprintf(update, table), values...)
		if err != nil {
			tb.Fatal(err)
		}
		rows, err := result.RowsAffected()
		if err != nil {
			tb.Fatal(err)
		}
		places += int(rows)
	}
	return places
}
