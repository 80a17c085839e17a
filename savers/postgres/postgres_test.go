package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

func backend() *sqltest.Backend {
	return &sqltest.Backend{
		Database: testenv.Postgres,
		Start:    start,
		Address: func(tb testing.TB, dsn string) string {
			tb.Helper()
			return parse(tb, dsn).Host
		},
		At: func(tb testing.TB, dsn, address string) string {
			tb.Helper()
			u := parse(tb, dsn)
			u.Host = address
			return u.String()
		},
		Open: func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error) {
			return postgres.Open(ctx, dsn, postgres.MaxConns(conns))
		},
		Patient: func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error) {
			return postgres.Open(ctx, dsn, postgres.MaxConns(conns), postgres.RetryTimeout(5*time.Minute))
		},
	}
}

func start(tb testing.TB) (*testenv.Server, string) {
	tb.Helper()
	server := testenv.StartPostgres(tb, true)
	return server, server.DSN
}

func parse(tb testing.TB, dsn string) *url.URL {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func connect(tb testing.TB, dsn string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(tb.Context())) }) // it was only looked at
	return conn
}

func exec(tb testing.TB, dsn string, text string) {
	tb.Helper()
	conn := connect(tb, dsn)
	_, err := conn.Exec(tb.Context(), text)
	if err = errors.Join(err, conn.Close(tb.Context())); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
}

func TestRoundTrips(t *testing.T) {
	sqltest.RoundTrips(t, backend(), sqltest.Trips{Commit: 1, Child: 1, Renew: 1, Put: 1, Many: 4, Open: 2, Load: 2, Describe: 2})
}

func TestManyRemovalsTakeFewRoundTrips(t *testing.T) { sqltest.Removals(t, backend()) }

// A load of a thread with packs takes no more round trips than that of another.
func TestRoundTripsOfALoadOfPacks(t *testing.T) { sqltest.LoadPacked(t, backend(), 2) }

func TestBrokenConnections(t *testing.T) { sqltest.BrokenConnections(t, backend()) }

func TestKilledServer(t *testing.T) { sqltest.KilledServer(t, backend()) }

func TestManyThreads(t *testing.T) { sqltest.ManyThreads(t, backend()) }

func TestSchemaModes(t *testing.T) {
	ctx, dsn := t.Context(), testenv.Postgres(t)
	sqltest.SchemaModes(t, sqltest.Modes{
		Create:   func() (checkpoint.Saver, error) { return postgres.Open(ctx, dsn) },
		Verify:   func() (checkpoint.Saver, error) { return postgres.Open(ctx, dsn, postgres.VerifySchema()) },
		Recreate: func() (checkpoint.Saver, error) { return postgres.Open(ctx, dsn, postgres.RecreateSchema()) },
		Exec:     func(text string) { exec(t, dsn, text) },
	})
}

// TestVerifyComparesTables opens savers on tables that somebody has changed.
func TestVerifyComparesTables(t *testing.T) {
	for change, want := range map[string]string{
		"ALTER TABLE graph_thread DROP COLUMN data":                          "data",
		"ALTER TABLE graph_thread ALTER COLUMN rev TYPE text":                "text = bigint",
		"ALTER TABLE graph_state RENAME TO other":                            "graph_state",
		"ALTER TABLE graph_record RENAME COLUMN data TO content":             "data",
		"DROP FUNCTION graph_apply":                                          "graph_apply",
		"ALTER TABLE graph_thread ADD COLUMN more BIGINT NOT NULL DEFAULT 0": "", // theirs to add
		"CREATE INDEX graph_thread_more ON graph_thread (created, pk)":       "",
	} {
		ctx, dsn := t.Context(), testenv.Postgres(t)
		s, err := postgres.Open(ctx, dsn)
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		exec(t, dsn, change)
		s, err = postgres.Open(ctx, dsn, postgres.VerifySchema())
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", change, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Schema")):
			t.Errorf("%s: got %v, want an error that names %s and says what to compare", change, err, want)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestReadableState(t *testing.T) {
	dsn := testenv.Postgres(t)
	open := func(decode ...func([]byte) ([]byte, error)) (checkpoint.Saver, error) {
		return postgres.Open(t.Context(), dsn, postgres.ReadableState(decode...))
	}
	conn := connect(t, dsn)
	sqltest.ReadableState(t, open, func(thread string) (status string, seq int64) { return readState(t, conn, thread) })
}

func readState(t *testing.T, conn *pgx.Conn, thread string) (status string, seq int64) {
	t.Helper()
	row := conn.QueryRow(t.Context(), `SELECT s.state_json->>'Status', s.seq FROM graph_state s
		JOIN graph_thread t ON t.pk = s.thread AND t.version = s.version WHERE t.pk = $1`, []byte(thread))
	if err := row.Scan(&status, &seq); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return status, seq
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://user:secret@127.0.0.1:1/threads": "refused",
		"postgres://user:secret@[::1/threads":        "parse",
		"mysql://user:secret@127.0.0.1:1/threads":    "parse",
	} {
		_, err := postgres.Open(t.Context(), dsn)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error about %q without the password", dsn, err, want)
		}
	}
}

// TestNothingIsLeftInASession counts what a session keeps between transactions: a pooler gives it
// to somebody else.
func TestNothingIsLeftInASession(t *testing.T) {
	dsn := testenv.Postgres(t)
	s, err := postgres.Open(t.Context(), dsn, postgres.MaxConns(1), postgres.WithPool(func(pool *pgxpool.Pool) {
		t.Cleanup(func() {
			var kept int
			row := pool.QueryRow(context.WithoutCancel(t.Context()), `SELECT (SELECT count(*) FROM pg_prepared_statements)
				+ (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())
				+ (SELECT count(*) FROM pg_cursors)`)
			if err := row.Scan(&kept); err != nil || kept > 1 { // the cursor of this very statement may be one
				t.Errorf("the session keeps %d things, %v; want none", kept, err)
			}
			pool.Close()
		})
	}))
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Exercise(t, s)
}

func TestPreparedStatements(t *testing.T) {
	s, err := postgres.Open(t.Context(), testenv.Postgres(t), postgres.PrepareStatements())
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Exercise(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, open := range map[string]func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error){
		"exec": backend().Open,
		"prepared": func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error) {
			return postgres.Open(ctx, dsn, postgres.MaxConns(conns), postgres.PrepareStatements())
		},
	} {
		b.Run(name, func(b *testing.B) {
			dsn := testenv.Postgres(b)
			if name == "exec" {
				dsn += "&default_query_exec_mode=exec"
			}
			conn := connect(b, dsn)
			if _, err := conn.Exec(b.Context(), "CREATE TABLE bare (thread BIGINT, seq BIGINT, id BYTEA, body BYTEA, PRIMARY KEY (thread, seq), UNIQUE (thread, id))"); err != nil {
				b.Fatal(err)
			}
			seq, body := int64(0), make([]byte, 240)
			sqltest.BenchmarkAppend(b, dsn, open, func() error {
				seq++
				id, err := checkpoint.NewID()
				if err == nil {
					_, err = conn.Exec(b.Context(), "INSERT INTO bare VALUES (1, $1, $2, $3)", seq, id[:], body)
				}
				return err
			})
		})
	}
}
