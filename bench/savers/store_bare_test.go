package savers_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	graphmysql "github.com/graphgen-go/graphgen/savers/mysql"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/redis"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func storeOnSQLite(tb testing.TB) (store.Backend, *bareStore) {
	tb.Helper()
	dir := tb.TempDir()
	saver := closes(tb, must(sqlite.Open(filepath.Join(dir, "store.db")))(tb))
	path := "file:" + filepath.Join(dir, "bare.db") + "?_journal_mode=WAL&_synchronous=FULL"
	db := closes(tb, must(sql.Open("sqlite", path))(tb))
	return saver.Store(), bareOnSQL(tb, db, "BLOB", question, onConflict)
}

func storeOnPostgres(tb testing.TB) (store.Backend, *bareStore) {
	tb.Helper()
	url := testenv.StartPostgres(tb, true).DSN
	saver := closes(tb, must(postgres.Open(tb.Context(), url))(tb))
	db := closes(tb, must(sql.Open("pgx", url))(tb))
	dollar := func(n int) string { return "$" + strconv.Itoa(n) }
	return saver.Store(), bareOnSQL(tb, db, "bytea", dollar, onConflict)
}

func storeOnMySQL(tb testing.TB) (store.Backend, *bareStore) {
	tb.Helper()
	config := must(mysql.ParseDSN(testenv.StartMySQL(tb, true).DSN))(tb)
	server := closes(tb, must(sql.Open("mysql", config.FormatDSN()))(tb))
	must(server.Exec("CREATE DATABASE bench"))(tb)
	config.DBName = "bench"
	saver := closes(tb, must(graphmysql.Open(tb.Context(), config.FormatDSN()))(tb))
	db := closes(tb, must(sql.Open("mysql", config.FormatDSN()))(tb))
	return saver.Store(), bareOnSQL(tb, db, "VARBINARY(255)", question, "ON DUPLICATE KEY UPDATE value = VALUES(value)")
}

// onConflict is the end of an insertion that replaces the value, on SQLite and PostgreSQL.
const onConflict = "ON CONFLICT (item_key) DO UPDATE SET value = excluded.value"

// question is the placeholder of all parameters.
func question(int) string { return "?" }

// bareOnSQL makes a table in db, with prepared statements. mark returns the placeholder of a
// parameter, from 1, and upsert is the end of an insertion that replaces the value.
func bareOnSQL(tb testing.TB, db *sql.DB, typ string, mark func(n int) string, upsert string) *bareStore {
	tb.Helper()
	must(db.Exec(fmt.Sprintf("CREATE TABLE bare_fact (item_key %[1]s PRIMARY KEY, kind %[1]s, value %[1]s)", typ)))(tb)
	must(db.Exec("CREATE INDEX bare_fact_kind ON bare_fact (kind, item_key)"))(tb)
	prepare := func(text string) *sql.Stmt { return closes(tb, must(db.Prepare(text))(tb)) }
	const insert = "INSERT INTO bare_fact (item_key, kind, value) VALUES "
	put := prepare(insert + "(" + mark(1) + ", " + mark(2) + ", " + mark(3) + ") " + upsert)
	get := prepare("SELECT item_key, value FROM bare_fact WHERE item_key = " + mark(1))
	page := prepare("SELECT item_key, value FROM bare_fact WHERE item_key > " + mark(1) + " ORDER BY item_key LIMIT 100")
	filter := prepare("SELECT item_key, value FROM bare_fact WHERE kind = " + mark(1) + " ORDER BY item_key LIMIT 100")
	return &bareStore{
		fill: func(ctx context.Context, from, n int) error {
			rows, args := make([]string, 0, n), make([]any, 0, 3*n)
			for i := range n {
				rows = append(rows, "("+mark(3*i+1)+", "+mark(3*i+2)+", "+mark(3*i+3)+")")
				args = append(args, []byte(factKey(from+i)), factKind(from+i), fmt.Appendf(nil, "%0200d", from+i))
			}
			_, err := db.ExecContext(ctx, insert+strings.Join(rows, ", "), args...)
			return err
		},
		put: func(ctx context.Context, n int, value []byte) error {
			_, err := put.ExecContext(ctx, []byte(factKey(n)), factKind(n), value)
			return err
		},
		get:    func(ctx context.Context, n int) (int, error) { return countRows(ctx, get, []byte(factKey(n))) },
		page:   func(ctx context.Context, n int) (int, error) { return countRows(ctx, page, []byte(factKey(n))) },
		filter: func(ctx context.Context, n int) (int, error) { return countRows(ctx, filter, factKind(n)) },
	}
}

// countRows reads keys and values, and returns their number.
func countRows(ctx context.Context, st *sql.Stmt, args ...any) (n int, err error) {
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for ; rows.Next(); n++ {
		var key, value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

// storeOnRedis compares with a hash of values, a sorted set of keys and a sorted set of keys for
// each kind.
func storeOnRedis(tb testing.TB) (store.Backend, *bareStore) {
	tb.Helper()
	client := closes(tb, goredis.NewClient(&goredis.Options{Addr: testenv.StartRedis(tb, true).Addr}))
	saver := closes(tb, must(redis.New(client))(tb))
	kind := func(n int) string { return "bare:kind:" + string(factKind(n)) }
	values := func(ctx context.Context, keys []string, err error) (int, error) {
		if err != nil {
			return 0, err
		}
		found, err := client.HMGet(ctx, "bare:values", keys...).Result()
		return len(found), err
	}
	return saver.Store(), &bareStore{
		fill: func(ctx context.Context, from, n int) error {
			_, err := client.Pipelined(ctx, func(p goredis.Pipeliner) error {
				for i := from; i < from+n; i++ {
					p.HSet(ctx, "bare:values", factKey(i), fmt.Appendf(nil, "%0200d", i))
					p.ZAdd(ctx, "bare:keys", goredis.Z{Member: factKey(i)})
					p.ZAdd(ctx, kind(i), goredis.Z{Member: factKey(i)})
				}
				return nil
			})
			return err
		},
		put: func(ctx context.Context, n int, value []byte) error {
			return client.HSet(ctx, "bare:values", factKey(n), value).Err()
		},
		get: func(ctx context.Context, n int) (int, error) {
			return 1, client.HGet(ctx, "bare:values", factKey(n)).Err()
		},
		page: func(ctx context.Context, n int) (int, error) {
			after := goredis.ZRangeArgs{Key: "bare:keys", Start: "(" + factKey(n), Stop: "+", ByLex: true, Count: 100}
			keys, err := client.ZRangeArgs(ctx, after).Result()
			return values(ctx, keys, err)
		},
		filter: func(ctx context.Context, n int) (int, error) {
			keys, err := client.ZRange(ctx, kind(n), 0, 99).Result()
			return values(ctx, keys, err)
		},
	}
}
