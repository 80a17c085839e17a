package sqltest

import (
	"database/sql"
	"testing"

	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// Resum gives pending writes that were copied from another thread the checksums of the threads
// where they are now. update sets the data of a row of graph_write, its first value, by write_no,
// its second.
func Resum(tb testing.TB, db *sql.DB, update string) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), "SELECT t.thread_key, w.write_no, w.data FROM graph_thread t JOIN graph_write w ON w.root = t.root")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // Err says what was wrong
	type row struct {
		no   int64
		data []byte
	}
	var all []row
	for rows.Next() {
		var r row
		var thread []byte
		if err := rows.Scan(&thread, &r.no, &r.data); err != nil {
			tb.Fatal(err)
		}
		write, _ := codec.CutWriteSum(r.data, string(thread))
		r.data = codec.AppendWriteSum(write, string(thread))
		all = append(all, r)
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		tb.Fatalf("%d pending writes, %v; want some", len(all), err)
	}
	tx, err := db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range all {
		if _, err := tx.ExecContext(tb.Context(), update, r.data, r.no); err != nil {
			tb.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
}
