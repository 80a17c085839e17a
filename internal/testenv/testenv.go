// Package testenv starts real servers for tests: MariaDB, PostgreSQL, PgBouncer, Redis, a Redis
// cluster and Temporal.
//
// MySQL, Postgres, PostgresPooler, Redis and RedisCluster share one server among the tests of a
// binary. The first test starts the server in a temporary folder and on a free port, with settings
// for speed. Each test gets its own database, schema or key prefix.
//
// The following environment variables select servers that already run:
//
//	GRAPHGEN_TEST_MYSQL_DSN
//	GRAPHGEN_TEST_POSTGRES_DSN
//	GRAPHGEN_TEST_PGVECTOR_DSN         a PostgreSQL with the extension vector
//	GRAPHGEN_TEST_POSTGRES_POOLER_DSN  a pooler with every database of its server
//	GRAPHGEN_TEST_REDIS_ADDR
//	GRAPHGEN_TEST_REDIS8_ADDR          a Redis 8, which has vector sets
//	GRAPHGEN_TEST_TEMPORAL_ADDR        a Temporal server with the namespace default
//
// StartMySQL, StartPostgres, StartPooler and StartRedis start a server for a single test, which
// may kill and restart it. StartPostgresPair and StartMariaDBPair also start a standby, which a
// test promotes. If GRAPHGEN_TEST_MYSQLD is the path of a mysqld, all other servers for MySQL
// tests run that program instead of MariaDB. A [Proxy] between a client and a server cuts
// connections, leads to another server and counts round trips.
//
// Servers end with the test or the process that started them, even if the process is killed. Under
// -short every function skips the test. If a server is not installed, the test fails and names the
// package to install.
package testenv

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// The environment variables for servers that already run.
const (
	mysqlVariable    = "GRAPHGEN_TEST_MYSQL_DSN"
	postgresVariable = "GRAPHGEN_TEST_POSTGRES_DSN"
	poolerVariable   = "GRAPHGEN_TEST_POSTGRES_POOLER_DSN"
	redisVariable    = "GRAPHGEN_TEST_REDIS_ADDR"
)

// The servers that the tests of this binary share. Each is started once.
var (
	sharedMySQL    = sync.OnceValues(func() (*Server, error) { return start(ownMySQL(false), 1) })
	sharedPostgres = sync.OnceValues(func() (*Server, error) { return start(postgres(false), 1) })
	sharedRedis8   = sync.OnceValues(startRedis8)
	sharedPgvector = sync.OnceValues(startPgvector)
	sharedPooler   = sync.OnceValues(startPooler)
	sharedRedis    = sync.OnceValues(func() (*Server, error) { return start(redis(false), 1) })
	sharedCluster  = sync.OnceValues(startCluster)
)

// names counts the names, so that no two tests of a process share one.
var names atomic.Int64

// name returns a new name for a database, a schema or a prefix.
func name() string { return fmt.Sprintf("graphgen_test_%d_%d", os.Getpid(), names.Add(1)) }

// MySQL returns the DSN of a new database, for go-sql-driver/mysql. The database is dropped when
// the test ends.
func MySQL(tb testing.TB) string {
	tb.Helper()
	dsn := os.Getenv(mysqlVariable)
	if dsn == "" {
		dsn = shared(tb, sharedMySQL).DSN
	} else {
		skipShort(tb)
	}
	return newDatabase(tb, dsn)
}

// Postgres returns the URL of a new schema, for pgx; search_path names the schema. The schema is
// dropped when the test ends.
func Postgres(tb testing.TB) string {
	tb.Helper()
	dsn := os.Getenv(postgresVariable)
	if dsn == "" {
		dsn = shared(tb, sharedPostgres).DSN
	} else {
		skipShort(tb)
	}
	return newSchema(tb, dsn)
}

// Redis returns the host:port of a server and an unused key prefix. Keys with that prefix are
// removed when the test ends.
func Redis(tb testing.TB) (addr, prefix string) {
	tb.Helper()
	addr = os.Getenv(redisVariable)
	if addr == "" {
		addr = shared(tb, sharedRedis).Addr
	} else {
		skipShort(tb)
	}
	prefix = name() + ":"
	tb.Cleanup(func() { removeKeys(tb, []string{addr}, prefix) })
	return addr, prefix
}

// RedisCluster returns the addresses of the three nodes of a cluster and an unused key prefix.
// Keys with that prefix are removed when the test ends.
func RedisCluster(tb testing.TB) (addrs []string, prefix string) {
	tb.Helper()
	skipShort(tb)
	nodes, err := sharedCluster()
	if err != nil {
		tb.Fatal(err)
	}
	for _, node := range nodes {
		addrs = append(addrs, node.Addr)
	}
	prefix = name() + ":"
	tb.Cleanup(func() { removeKeys(tb, addrs, prefix) })
	return addrs, prefix
}

// StartMySQL starts a MariaDB, or the program in GRAPHGEN_TEST_MYSQLD, for this test only. If
// durable is true, it syncs every commit to disk.
func StartMySQL(tb testing.TB, durable bool) *Server {
	tb.Helper()
	return own(tb, ownMySQL(durable))
}

// StartPostgres starts a PostgreSQL for this test only. If durable is true, it syncs every commit
// to disk.
func StartPostgres(tb testing.TB, durable bool) *Server {
	tb.Helper()
	return own(tb, postgres(durable))
}

// StartRedis starts a Redis for this test only. If durable is true, it syncs every write to its
// append-only file. Otherwise a Kill loses all data.
func StartRedis(tb testing.TB, durable bool) *Server {
	tb.Helper()
	return own(tb, redis(durable))
}

func skipShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a real server")
	}
}

func shared(tb testing.TB, server func() (*Server, error)) *Server {
	tb.Helper()
	skipShort(tb)
	s, err := server()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func own(tb testing.TB, k kind) *Server {
	tb.Helper()
	skipShort(tb)
	s, err := start(k, 1)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.remove(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
