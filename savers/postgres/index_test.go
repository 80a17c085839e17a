package postgres_test

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// TestThreadsAreListedByIndex lists threads on a server that has not counted its rows yet, and
// with prepared statements on one that has. A statement calls a function, which has one plan for
// all of these.
func TestThreadsAreListedByIndex(t *testing.T) {
	const n = 10_000
	dsn := testenv.Postgres(t)
	conn := connect(t, dsn)
	filling := "filling " + rand.Text()
	fillThreads(t, named(t, dsn, filling), n)
	var version int
	if err := conn.QueryRow(t.Context(), "SELECT CAST(current_setting('server_version_num') AS integer)").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version < 150_000 {
		t.Logf("version %d cannot be made to tell at once what it has read", version)
		return
	}
	var pool *pgxpool.Pool
	var opts []postgres.Option
	l := &sqltest.Listing{
		N: n,
		Open: func() (checkpoint.Saver, error) {
			return postgres.Open(t.Context(), dsn, append(opts, postgres.VerifySchema(), postgres.MaxConns(1),
				postgres.WithPool(func(p *pgxpool.Pool) { pool = p }))...)
		},
		Read: func(s checkpoint.Saver) (read, blocks int) {
			// The session reports its counts before it is ready for the next statement.
			if _, err := pool.Exec(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			row := conn.QueryRow(t.Context(), `SELECT CAST((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = current_schema())
				+ (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = current_schema()) AS bigint),
				CAST((SELECT sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit) FROM pg_statio_user_tables
					WHERE schemaname = current_schema()) AS bigint)`)
			if err := row.Scan(&read, &blocks); err != nil {
				t.Fatal(err)
			}
			return read, blocks
		},
	}
	waitForEnd(t, conn, filling)
	t.Run("planned for each call", l.ByIndex)
	exec(t, named(t, dsn, filling), "ANALYZE") //nolint:misspell // it is spelled so
	waitForEnd(t, conn, filling)
	opts = []postgres.Option{postgres.PrepareStatements()}
	t.Run("counted and prepared", l.ByIndex)
}

// fillThreads stores the n threads of a Listing in tables whose rows only the test counts.
func fillThreads(t *testing.T, dsn string, n int) {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	for table := range rows.Tables {
		exec(t, dsn, fmt.Sprintf("ALTER TABLE graph_%v SET (autovacuum_enabled = false)", rows.Table(table)))
	}
	sqltest.Fill(t, sqlsaver.RowsOf(s.Saver), n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// named returns dsn with a name for its sessions.
func named(t *testing.T, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// waitForEnd waits until the server has ended the sessions of a name. It counts what a session has
// read at its end at the latest, which may be after the client has closed the connection.
func waitForEnd(t *testing.T, conn *pgx.Conn, name string) {
	t.Helper()
	for left := 1; left > 0; {
		row := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", name)
		if err := row.Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
}
