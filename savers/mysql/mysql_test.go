package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

func backend() *sqltest.Backend {
	return &sqltest.Backend{
		Database: testenv.MySQL,
		Start:    start,
		Address: func(tb testing.TB, dsn string) string {
			tb.Helper()
			return config(tb, dsn).Addr
		},
		At: func(tb testing.TB, dsn, address string) string {
			tb.Helper()
			c := config(tb, dsn)
			c.Addr = address
			return c.FormatDSN()
		},
		Open: func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error) {
			return mysql.Open(ctx, dsn, mysql.MaxConns(conns))
		},
		Patient: func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error) {
			return mysql.Open(ctx, dsn, mysql.MaxConns(conns), mysql.RetryTimeout(5*time.Minute))
		},
	}
}

func start(tb testing.TB) (*testenv.Server, string) {
	tb.Helper()
	server := testenv.StartMySQL(tb, true)
	return server, own(tb, server)
}

// own creates the database own on a server, and returns its DSN.
func own(tb testing.TB, server *testenv.Server) string {
	tb.Helper()
	exec(tb, server.DSN, "CREATE DATABASE own")
	c := config(tb, server.DSN)
	c.DBName = "own"
	return c.FormatDSN()
}

func config(tb testing.TB, dsn string) *driver.Config {
	tb.Helper()
	c, err := driver.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func database(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() }) // it was only looked at
	return db
}

func exec(tb testing.TB, dsn string, texts ...string) {
	tb.Helper()
	for _, text := range texts {
		if _, err := database(tb, dsn).Exec(text); err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
	}
}

func TestRoundTrips(t *testing.T) {
	sqltest.RoundTrips(t, backend(), sqltest.Trips{Commit: 1, Child: 1, Renew: 1, Put: 1, Many: 5, Open: 2, Load: 2, Describe: 2})
}

// A load of a thread with packs takes no more round trips than that of another.
func TestRoundTripsOfALoadOfPacks(t *testing.T) { sqltest.LoadPacked(t, backend(), 2) }

func TestBrokenConnections(t *testing.T) { sqltest.BrokenConnections(t, backend()) }

func TestKilledServer(t *testing.T) { sqltest.KilledServer(t, backend()) }

func TestManyThreads(t *testing.T) { sqltest.ManyThreads(t, backend()) }

func TestSchemaModes(t *testing.T) {
	ctx, dsn := t.Context(), testenv.MySQL(t)
	sqltest.SchemaModes(t, sqltest.Modes{
		Create:   func() (checkpoint.Saver, error) { return mysql.Open(ctx, dsn) },
		Verify:   func() (checkpoint.Saver, error) { return mysql.Open(ctx, dsn, mysql.VerifySchema()) },
		Recreate: func() (checkpoint.Saver, error) { return mysql.Open(ctx, dsn, mysql.RecreateSchema()) },
		Exec:     func(text string) { exec(t, dsn, text) },
	})
}

func TestReadableState(t *testing.T) {
	dsn := testenv.MySQL(t)
	open := func(decode ...func([]byte) ([]byte, error)) (checkpoint.Saver, error) {
		return mysql.Open(t.Context(), dsn, mysql.ReadableState(decode...))
	}
	db := database(t, dsn)
	sqltest.ReadableState(t, open, func(thread string) (status string, seq int64) {
		row := db.QueryRow(`SELECT JSON_UNQUOTE(JSON_EXTRACT(s.state_json, '$.Status')), s.seq FROM graph_state s
			JOIN graph_thread t ON t.pk = s.thread AND t.version = s.version WHERE t.pk = ?`, thread)
		if err := row.Scan(&status, &seq); err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		return status, seq
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for dsn, want := range map[string]string{
		"":                                "database",
		"user:secret@tcp(127.0.0.1:1)/":   "database",
		"user:secret@tcp(127.0.0.1:1/":    "DSN",
		"user:secret@nonsense(x)/threads": "nonsense",
		"user:secret@tcp(127.0.0.1:1)/threads?ssl-mode=REQUIRED": "tls=true",
		"user:secret@tcp(127.0.0.1:1)/threads?use-utf8=1":        `no setting "use-utf8"`,
		"user:secret@tcp(127.0.0.1:1)/threads?strict=true":       `no setting "strict"`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := mysql.Open(ctx, dsn)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error about %q without the password", dsn, err, want)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	dsn := testenv.MySQL(b)
	exec(b, dsn, "CREATE TABLE bare (thread BIGINT, seq BIGINT, id BINARY(16), body LONGBLOB, PRIMARY KEY (thread, seq), UNIQUE KEY (thread, id))")
	st, err := database(b, dsn).Prepare("INSERT INTO bare VALUES (1, ?, ?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	seq, body := 0, make([]byte, 240)
	sqltest.BenchmarkAppend(b, dsn, backend().Open, func() error {
		seq++
		id, err := checkpoint.NewID()
		if err == nil {
			_, err = st.ExecContext(b.Context(), seq, id[:], body)
		}
		return err
	})
}

// TestARunMakesNoTemporaryTables makes the calls of a run and its readers. It asks the server how
// many temporary tables it made on the disk.
func TestARunMakesNoTemporaryTables(t *testing.T) {
	dsn := testenv.MySQL(t)
	db := database(t, dsn)
	s, err := mysql.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	made := func() (n int) {
		t.Helper()
		var name string
		if err := db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Created_tmp_disk_tables'").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	made()
	asking := -made() + made()
	before := made()
	sqltest.Exercise(t, s)
	if got := made() - before - asking; got != 0 {
		t.Errorf("%d temporary tables on the disk, want none", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
