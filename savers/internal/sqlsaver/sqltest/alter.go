package sqltest

import (
	"database/sql"
	"fmt"
	"testing"
)

// Alter runs an UPDATE that replaces bytes in column %[2]s of table %[1]s. It runs it for all
// columns that hold records or pending writes, and returns how many rows it changed.
func Alter(tb testing.TB, db *sql.DB, update string, args ...[]byte) (places int) {
	tb.Helper()
	values := make([]any, len(args))
	for i := range args {
		values[i] = args[i]
	}
	for _, at := range [][2]string{{"graph_checkpoint", "body"}, {"graph_checkpoint", "payload"}, {"graph_pack", "body"}, {"graph_write", "data"}} {
		result, err := db.ExecContext(tb.Context(), fmt.Sprintf(update, at[0], at[1]), values...)
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
