package mysql_test

import (
	"database/sql"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// TestThreadsAreListedByIndex lists threads before and after the server has looked at its tables.
func TestThreadsAreListedByIndex(t *testing.T) {
	const n = 10_000
	dsn := testenv.MySQL(t)
	fillThreads(t, dsn, n)
	db, own := database(t, dsn), 0
	l := &sqltest.Listing{
		N:    n,
		Open: func() (checkpoint.Saver, error) { return mysql.Open(t.Context(), dsn, mysql.MaxConns(1)) },
		Read: func(s checkpoint.Saver) (read, _ int) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			read = rowsRead(t, db) - own
			again := rowsRead(t, db) - own // asking reads, too
			own += 2 * (again - read)
			return read, 0
		},
	}
	t.Run("as it is", l.ByIndex)
	exec(t, dsn, "ANALYZE TABLE graph_thread, graph_record, graph_write, graph_index") //nolint:misspell // it is spelled so
	t.Run("counted", l.ByIndex)
}

// TestDescriptionsOfSchemasCostALoadNothing compares the rows that a load reads of a thread that
// has described many schemas with those of a thread that has described none.
func TestDescriptionsOfSchemasCostALoadNothing(t *testing.T) {
	dsn := testenv.MySQL(t)
	s, err := mysql.Open(t.Context(), dsn, mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begin := func(thread string, schemas int) {
		id, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		a := checkpoint.Append{Thread: thread, Open: &checkpoint.Opening{Holder: "test"}, Records: []checkpoint.Record{
			{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80}},
		}}
		for n := range schemas {
			a.Writes = append(a.Writes, checkpoint.SchemaWrite(uint64(n), make([]byte, 1000)))
		}
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	begin("none", 0)
	begin("many", 50)
	db := database(t, dsn)
	own := -rowsRead(t, db)
	own += rowsRead(t, db) // asking reads, too
	load := func(thread string) (read int) {
		read = -rowsRead(t, db) - own
		if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread}); err != nil {
			t.Fatal(err)
		}
		return read + rowsRead(t, db)
	}
	load("none") // may prepare statements
	none, many := load("none"), load("many")
	if t.Logf("%d rows, %d with 50 descriptions", none, many); many != none || none <= 0 {
		t.Errorf("a load reads %d rows with 50 descriptions of schemas, want %d, as without", many, none)
	}
}

// TestALoadReadsWhatItReturns compares the rows that loads read of a long log, whose head has a
// snapshot, with those of a short one.
func TestALoadReadsWhatItReturns(t *testing.T) {
	dsn := testenv.MySQL(t)
	s, err := mysql.Open(t.Context(), dsn, mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heads := map[string]checkpoint.ID{"short": sqltest.Long(t, s, "short", 1), "long": sqltest.Long(t, s, "long", 300)}
	db := database(t, dsn)
	own := -rowsRead(t, db)
	own += rowsRead(t, db) // asking reads, too
	load := func(p checkpoint.Ref) (read int) {
		read = -rowsRead(t, db) - own
		if _, err := s.Load(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return read + rowsRead(t, db)
	}
	load(checkpoint.Ref{Thread: "short"}) // may prepare statements
	for name, at := range map[string]func(thread string) checkpoint.Ref{
		"the head":   func(thread string) checkpoint.Ref { return checkpoint.Ref{Thread: thread} },
		"its id":     func(thread string) checkpoint.Ref { return checkpoint.Ref{Thread: thread, At: heads[thread]} },
		"no records": func(thread string) checkpoint.Ref { return checkpoint.Ref{Thread: thread, Namespace: "none"} },
	} {
		short, long := load(at("short")), load(at("long"))
		if t.Logf("%s: %d rows, %d of a long log", name, short, long); long > short+2 || short <= 0 || short > 60 {
			t.Errorf("a load of %s reads %d rows, and %d of a log of 300 records, want the same and at most 60", name, short, long)
		}
	}
}

// rowsRead returns how many rows and entries of indexes the server has read. Only one test at a
// time uses the server.
func rowsRead(t *testing.T, db *sql.DB) (read int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Handler_read_%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		read += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return read
}

// fillThreads makes the n threads of a sqltest.Listing.
func fillThreads(t *testing.T, dsn string, n int) {
	t.Helper()
	s, err := mysql.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Fill(t, sqlsaver.RowsOf(s.Saver), n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
