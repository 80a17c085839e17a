package testenv

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
)

// pooler describes a PgBouncer that assigns connections for single transactions. It accepts all
// users and has a pool for each database of the PostgreSQL at target.
func pooler(target string) kind {
	return kind{
		name:  "PgBouncer",
		needs: []string{"pgbouncer"},
		users: []string{"postgres", "nobody"},
		ports: 1,
		setup: func(s *Server) []string {
			host, port, _ := net.SplitHostPort(target)
			// Few connections serve many clients, so that each client gets different connections.
			// A server that was down is tried again after one second instead of fifteen.
			config := fmt.Sprintf(`[databases]
* = host=%s port=%s user=postgres

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 500
server_login_retry = 1
`, host, port, s.port(0))
			return []string{"/bin/sh", "-c", `printf %s "$1" >"$2"`, "sh", config, s.path("pgbouncer.ini")}
		},
		run: func(s *Server) []string {
			return []string{"/bin/sh", "-c", keepUp, "sh", find("pgbouncer", nil), s.path("pgbouncer.ini")}
		},
		dsn:   func(s *Server) string { return "postgres://postgres@" + s.Addr + "/postgres?sslmode=disable" },
		ready: connects,
		end:   syscall.SIGTERM,
	}
}

// keepUp is a script that restarts a program when it ends, as a service manager would. PgBouncer
// 1.18 sometimes crashes when clients cancel queries. The script passes its own termination on as
// kill -9, because the program stores nothing.
const keepUp = `
trap 'kill -9 $pid; exit 0' TERM
while :; do
	"$@" &
	pid=$!
	wait $pid
	sleep 0.1
done
`

// PostgresPooler returns the URL of a new database, for pgx, through a pooler that assigns
// connections for single transactions. The database is dropped when the test ends.
func PostgresPooler(tb testing.TB) string {
	tb.Helper()
	if dsn := os.Getenv(poolerVariable); dsn != "" {
		skipShort(tb)
		return newPooled(tb, dsn, dsn)
	}
	return newPooled(tb, shared(tb, sharedPooler).DSN, shared(tb, sharedPostgres).DSN)
}

// startPooler starts a pooler in front of the PostgreSQL that all tests share.
func startPooler() (*Server, error) {
	s, err := sharedPostgres()
	if err != nil {
		return nil, err
	}
	return start(pooler(s.Addr), 1)
}

// StartPooler starts a PgBouncer in front of a server of StartPostgres, for this test only. It
// assigns connections for single transactions.
func StartPooler(tb testing.TB, s *Server) *Server {
	tb.Helper()
	return own(tb, pooler(s.Addr))
}

// newPooled creates a database for a test over direct, and returns its URL. Behind a pooler, a
// connection cannot keep its own search path.
func newPooled(tb testing.TB, dsn, direct string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		tb.Fatalf("testenv: %s: want a URL, postgres://user@host:port/database: %v", poolerVariable, err)
	}
	db := name()
	execPostgres(tb, direct, "CREATE DATABASE "+db)
	tb.Cleanup(func() { execPostgres(tb, direct, "DROP DATABASE "+db+" WITH (FORCE)") }) // the pooler holds connections
	u.Path = "/" + db
	return u.String()
}
