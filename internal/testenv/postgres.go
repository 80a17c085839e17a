package testenv

import (
	"context"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres describes a PostgreSQL server. Its user postgres has no password.
func postgres(durable bool) kind {
	return kind{
		name:    "PostgreSQL",
		needs:   []string{"postgres", "initdb"},
		folders: []string{"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"},
		users:   []string{"postgres", "nobody"},
		ports:   1,
		setup: func(s *Server) []string {
			return []string{"initdb", "-D", s.path("data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
				"--no-sync", "--no-instructions"}
		},
		run: func(s *Server) []string {
			args := []string{"postgres", "-D", s.path("data"), "-p", s.port(0), "-c", "listen_addresses=127.0.0.1",
				"-c", "unix_socket_directories=" + s.dir, "-c", "shared_buffers=32MB", "-c", "max_connections=200"}
			if durable {
				return args
			}
			return append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
		},
		dsn:   func(s *Server) string { return "postgres://postgres@" + s.Addr + "/postgres?sslmode=disable" },
		ready: connects,
		end:   syscall.SIGQUIT,
	}
}

// connects reports whether a PostgreSQL accepts a client. It rejects clients during recovery.
func connects(s *Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// newSchema creates a schema for a test and returns the URL with that schema as search path.
func newSchema(tb testing.TB, dsn string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		tb.Fatalf("testenv: %s: want a URL, postgres://user@host:port/database: %v", postgresVariable, err)
	}
	schema := name()
	execPostgres(tb, dsn, "CREATE SCHEMA "+schema)
	tb.Cleanup(func() { execPostgres(tb, dsn, "DROP SCHEMA "+schema+" CASCADE") })
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

func execPostgres(tb testing.TB, dsn, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err == nil {
		defer func() { _ = conn.Close(ctx) }() // the result of the statement matters
		_, err = conn.Exec(ctx, statement)
	}
	if err != nil {
		tb.Fatalf("testenv: PostgreSQL: %s: %v", statement, err)
	}
}
