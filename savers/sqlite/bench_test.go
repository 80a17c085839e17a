package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// BenchmarkAppend commits one superstep of 200 bytes to a thread that has n. It must cost the same
// for all n, and little more than BenchmarkBareInsert.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name        string
		synchronous sqlite.SyncMode
	}{{"full", sqlite.Full}, {"normal", sqlite.Normal}} {
		for _, n := range []int{10, 100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/n=%d", c.name, n), func(b *testing.B) {
				s := open(b, filepath.Join(b.TempDir(), "threads.db"), sqlite.Synchronous(c.synchronous))
				r, err := begin(b.Context(), s, "t")
				if err != nil {
					b.Fatal(err)
				}
				payload := make([]byte, 200)
				for range n {
					if _, err := r.commit(b.Context(), payload); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					if _, err := r.commit(b.Context(), payload); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkBareInsert stores the same bytes by the bare driver. It runs one prepared INSERT, in a
// transaction of its own, into a table with the same two keys.
func BenchmarkBareInsert(b *testing.B) {
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		b.Run(synchronous, func(b *testing.B) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_journal_mode=WAL&_synchronous="+synchronous)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			for _, text := range []string{
				"CREATE TABLE bare (thread INTEGER, seq INTEGER, id BLOB, body BLOB, PRIMARY KEY (thread, seq)) WITHOUT ROWID",
				"CREATE UNIQUE INDEX bare_id ON bare (thread, id)",
			} {
				if _, err := db.Exec(text); err != nil {
					b.Fatal(err)
				}
			}
			st, err := db.Prepare("INSERT INTO bare VALUES (1, ?, ?, ?)")
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			body, seq := make([]byte, 240), 0
			for b.Loop() {
				seq++
				id := fmt.Appendf(nil, "%016d", seq)
				if _, err := st.ExecContext(b.Context(), seq, id, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
