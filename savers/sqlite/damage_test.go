package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// value is a row of a table with data.
type value struct {
	table    string
	pk, data []byte
}

// values reads the rows of tables.
func values(t *testing.T, db *sql.DB, tables ...string) (all []value) {
	t.Helper()
	for _, table := range tables {
		rows, err := db.QueryContext(t.Context(), "SELECT pk, data FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }() // Err says what was wrong
		for rows.Next() {
			v := value{table: table}
			if err := rows.Scan(&v.pk, &v.data); err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// write makes data the data of the row.
func (v *value) write(t *testing.T, db *sql.DB, data []byte) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "UPDATE "+v.table+" SET data = ? WHERE pk = ?", data, v.pk); err != nil {
		t.Fatal(err)
	}
}

// damaged makes a file with the threads "a" and "b", which each have three records and a question.
func damaged(t *testing.T) (*sqlite.Saver, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path, sqlite.Synchronous(sqlite.Normal))
	for _, thread := range []string{"a", "b"} {
		r, err := begin(t.Context(), s, thread)
		if err != nil {
			t.Fatal(err)
		}
		for _, payload := range [][]byte{[]byte("delta"), bytes.Repeat([]byte("large"), 20)} {
			if _, err := r.commit(t.Context(), payload); err != nil {
				t.Fatal(err)
			}
		}
		put := checkpoint.PutWrites{Thread: thread, Fence: r.fence, End: true, Writes: []checkpoint.Write{
			{Base: r.head, Task: "task", Kind: checkpoint.Question, Payload: []byte("question of " + thread)},
		}}
		if _, err := s.PutWrites(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
	return s, database(t, path)
}

// database opens a file by the driver.
func database(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // what it did was checked
	return db
}

// wantDamage fails unless a load of a thread says that it is damaged.
func wantDamage(t *testing.T, s *sqlite.Saver, thread, what string) {
	t.Helper()
	_, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread})
	if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), `thread "`+thread+`"`) {
		t.Errorf("%s: got %v, want an error that is ErrDamaged and names the thread", what, err)
	}
}

// TestEachChangedByteIsDamage changes each byte of each row that a load reads, one by one.
func TestEachChangedByteIsDamage(t *testing.T) {
	s, db := damaged(t)
	for _, v := range values(t, db, "graph_thread", "graph_record", "graph_write") {
		thread := "a"
		for i := range v.data {
			changed := bytes.Clone(v.data)
			changed[i] ^= 1 << (i % 8)
			v.write(t, db, changed)
			if i == 0 {
				if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread}); err == nil {
					thread = "b" // it is a row of that one
				}
			}
			wantDamage(t, s, thread, v.table)
		}
		v.write(t, db, v.data[:len(v.data)-1])
		wantDamage(t, s, thread, v.table+": a byte less")
		v.write(t, db, v.data)
	}
	if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "a"}); err != nil {
		t.Errorf("with the rows as they were: %v", err)
	}
}

// TestARowInAnotherPlaceIsDamage exchanges the data of each two rows of a table.
func TestARowInAnotherPlaceIsDamage(t *testing.T) {
	s, db := damaged(t)
	for _, table := range []string{"graph_thread", "graph_record", "graph_write"} {
		all := values(t, db, table)
		for i := range all {
			other := all[(i+1)%len(all)]
			all[i].write(t, db, other.data)
			_, errA := s.Load(t.Context(), checkpoint.Ref{Thread: "a"})
			_, errB := s.Load(t.Context(), checkpoint.Ref{Thread: "b"})
			if !errors.Is(errors.Join(errA, errB), checkpoint.ErrDamaged) {
				t.Errorf("%s: got %v, %v; want ErrDamaged of a thread", table, errA, errB)
			}
			all[i].write(t, db, all[i].data)
		}
	}
}

// TestALogWithoutItsBeginningIsDamage removes the record with the snapshot.
func TestALogWithoutItsBeginningIsDamage(t *testing.T) {
	s, db := damaged(t)
	if _, err := db.ExecContext(t.Context(), "DELETE FROM graph_record WHERE substr(pk, -16) = zeroblob(16)"); err != nil {
		t.Fatal(err)
	}
	wantDamage(t, s, "a", "no snapshot")
}

// TestEachChangedByteOfAPackIsDamage changes each byte of a pack, one by one.
func TestEachChangedByteOfAPackIsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path, sqlite.Synchronous(sqlite.Normal), often)
	var head checkpoint.ID
	var err error
	for n := range 14 {
		if head, err = packtest.Turn(t.Context(), n, head, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Pack(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	db := database(t, path)
	packs := 0
	for _, v := range values(t, db, "graph_record") {
		if v.data[0] != isPack {
			continue
		}
		packs++
		for i := range v.data {
			changed := bytes.Clone(v.data)
			changed[i] ^= 1 << (i % 8)
			v.write(t, db, changed)
			wantDamage(t, s, "t", "a pack")
		}
		v.write(t, db, v.data)
	}
	if packs == 0 {
		t.Error("there is no pack")
	}
	if _, err := db.ExecContext(t.Context(), "DELETE FROM graph_record WHERE substr(data, 1, 1) = x'02'"); err != nil {
		t.Fatal(err)
	}
	wantDamage(t, s, "t", "no pack")
}

func TestOlderTablesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	mustExecute(t, path, "CREATE TABLE graph_schema (version INTEGER NOT NULL PRIMARY KEY)")
	mustExecute(t, path, "INSERT INTO graph_schema VALUES (24)")
	s, err := sqlite.Open(path)
	if err == nil {
		_ = s.Close() // the test has failed
	}
	if err == nil || !strings.Contains(err.Error(), "version 24") || !strings.Contains(err.Error(), "version 26") {
		t.Errorf("got %v, want an error with both versions", err)
	}
}
