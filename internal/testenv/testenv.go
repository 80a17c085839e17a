// Package testenv gives tests the real servers they talk to: MariaDB, PostgreSQL, PgBouncer before it, Redis and a Redis
// cluster.
//
// MySQL, Postgres, PostgresPooler, Redis and RedisCluster share one server among the tests of a binary. It is started
// when the first test asks for it, in a temporary folder and on a free port, tuned for speed; each test gets a database,
// schema or key prefix of its own. The variables GRAPHGEN_TEST_MYSQL_DSN, GRAPHGEN_TEST_POSTGRES_DSN and
// GRAPHGEN_TEST_REDIS_ADDR point at running servers to use instead, and GRAPHGEN_TEST_POSTGRES_POOLER_DSN at a pooler
// that has every database of its server.
//
// StartMySQL, StartPostgres, StartPooler and StartRedis start a server for one test alone, which may kill it and start
// it again. With GRAPHGEN_TEST_MYSQLD, the path of a mysqld, they and the shared servers are a MySQL and no MariaDB.
// A [Proxy] stands between a client and any of them, cuts connections and counts round trips.
//
// Servers end with the test, or the process, that started them, however that process ends. Under -short every
// function skips the test; without the server it needs, a test fails and says what to install.
package testenv

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// Variables that point at running servers.
const (
	mysqlVariable    = "GRAPHGEN_TEST_MYSQL_DSN"
	postgresVariable = "GRAPHGEN_TEST_POSTGRES_DSN"
	poolerVariable   = "GRAPHGEN_TEST_POSTGRES_POOLER_DSN"
	redisVariable    = "GRAPHGEN_TEST_REDIS_ADDR"
)

// The servers that the tests of this binary share, each started once.
var (
	sharedMySQL    = sync.OnceValues(func() (*Server, error) { return start(ownMySQL(false), 1) })
	sharedPostgres = sync.OnceValues(func() (*Server, error) { return start(postgres(false), 1) })
	sharedPooler   = sync.OnceValues(startPooler)
	sharedRedis    = sync.OnceValues(func() (*Server, error) { return start(redis(false), 1) })
	sharedCluster  = sync.OnceValues(startCluster)
)

// names counts the names given out, so that no two tests of a process share one.
var names atomic.Int64

// name returns a name that nothing on a server has: for a database, a schema or a prefix.
func name() string { return fmt.Sprintf("graphgen_test_%d_%d", os.Getpid(), names.Add(1)) }

// MySQL returns the DSN of a new database, for go-sql-driver/mysql. It is dropped when the test ends.
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

// Postgres returns the URL of a new schema, for pgx: search_path names it. It is dropped when the test ends.
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

// Redis returns the host:port of a server, and a prefix that no key of it has. Keys with that prefix are removed when
// the test ends.
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

// RedisCluster returns the addresses of a cluster's three nodes, and a prefix that no key of it has. Keys with that
// prefix are removed when the test ends.
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

// StartMySQL starts a MariaDB, or what GRAPHGEN_TEST_MYSQLD names, for this test alone. A durable one syncs every commit to disk.
func StartMySQL(tb testing.TB, durable bool) *Server {
	tb.Helper()
	return own(tb, ownMySQL(durable))
}

// StartPostgres starts a PostgreSQL for this test alone. A durable one syncs every commit to disk.
func StartPostgres(tb testing.TB, durable bool) *Server {
	tb.Helper()
	return own(tb, postgres(durable))
}

// StartRedis starts a Redis for this test alone. A durable one syncs every write to its append-only file; one that is
// not keeps nothing over a Kill.
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
