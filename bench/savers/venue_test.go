package savers_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
	graphmysql "github.com/graphgen-go/graphgen/savers/mysql"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/redis"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// rowSize is how many bytes the bare driver writes next to an id and a number: a payload of 200
// bytes and a header.
const rowSize = 240

// groupSize is the number of bare writes in a transaction, the largest of the SQLite saver.
const groupSize = 256

// venue is the setup to measure one saver.
type venue struct {
	saver  checkpoint.Saver
	write  func(ctx context.Context, n int) error // one durable bare write; nil for none
	group  func(ctx context.Context, n int) error // groupSize bare writes in one transaction, from number n on; nil for none
	read   func(ctx context.Context) (int, error) // reads all writes; returns how many
	stored func() (int64, error)                  // bytes that everything takes
}

// venues are those of all savers, on servers that sync every commit.
var venues = []struct {
	name string
	open func(tb testing.TB) *venue
}{
	{"memory", openMemory},
	{"a slice and a map", openBare},
	{"file", openFile},
	{"file, NoSync", func(tb testing.TB) *venue {
		tb.Helper()
		v := openFile(tb)
		dir := filepath.Join(tb.TempDir(), "unsynced")
		v.saver = closes(tb, must(file.Open(dir, file.NoSync()))(tb))
		v.stored = func() (int64, error) { return sizeOf(dir) }
		bare := closes(tb, must(os.Create(filepath.Join(tb.TempDir(), "bare")))(tb))
		row := make([]byte, rowSize)
		v.write = func(context.Context, int) error {
			_, err := bare.Write(row)
			return err
		}
		v.read = func(context.Context) (int, error) {
			b, err := os.ReadFile(bare.Name())
			return len(b) / rowSize, err
		}
		return v
	}},
	{"sqlite", func(tb testing.TB) *venue { tb.Helper(); return openSQLite(tb, "FULL") }},
	{"sqlite, Normal", func(tb testing.TB) *venue {
		tb.Helper()
		return openSQLite(tb, "NORMAL", sqlite.Synchronous(sqlite.Normal))
	}},
	{"redis", openRedis},
	{"mysql", openMySQL},
	{"postgres", func(tb testing.TB) *venue { tb.Helper(); return openPostgres(tb, pgx.QueryExecModeExec) }},
	{"postgres, prepared", func(tb testing.TB) *venue {
		tb.Helper()
		return openPostgres(tb, pgx.QueryExecModeCacheStatement, postgres.PrepareStatements())
	}},
}

func must[T any](v T, err error) func(tb testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// closes ends what was opened when the test ends.
func closes[T interface{ Close() error }](tb testing.TB, c T) T {
	tb.Helper()
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return c
}

func openMemory(testing.TB) *venue { return &venue{saver: memory.New()} }

// bare is the baseline for the memory saver: it copies payloads into slices, and puts the ids
// into maps. A method that it does not have panics.
type bare struct {
	checkpoint.Saver
	logs map[string]*bareLog
}

type bareLog struct {
	payloads [][]byte
	where    map[checkpoint.ID]int
}

func openBare(testing.TB) *venue { return &venue{saver: &bare{logs: make(map[string]*bareLog)}} }

// Append adds one record.
func (b *bare) Append(_ context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Open != nil {
		b.logs[a.Thread] = &bareLog{where: make(map[checkpoint.ID]int)}
	}
	l, r := b.logs[a.Thread], &a.Records[0]
	l.where[r.ID] = len(l.payloads)
	l.payloads = append(l.payloads, slices.Clone(r.Payload))
	return checkpoint.AppendResult{}, nil
}

func openFile(tb testing.TB) *venue {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "threads")
	v := &venue{saver: closes(tb, must(file.Open(dir))(tb)), stored: func() (int64, error) { return sizeOf(dir) }}
	bare := closes(tb, must(os.Create(filepath.Join(tb.TempDir(), "bare")))(tb))
	row := make([]byte, rowSize)
	v.write = func(context.Context, int) error {
		if _, err := bare.Write(row); err != nil {
			return err
		}
		return bare.Sync()
	}
	v.read = func(context.Context) (int, error) {
		b, err := os.ReadFile(bare.Name())
		return len(b) / rowSize, err
	}
	return v
}

// sizeOf returns how many bytes the files of a folder have.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// viaSQL sets the bare operations of a database/sql driver: with a prepared statement, into a
// table with the same two keys.
func (v *venue) viaSQL(tb testing.TB, db *sql.DB, tables ...string) {
	tb.Helper()
	for _, text := range tables {
		must(db.ExecContext(tb.Context(), text))(tb)
	}
	insert := closes(tb, must(db.Prepare("INSERT INTO bare (thread, seq, id, body) VALUES (1, ?, ?, ?)"))(tb))
	query := closes(tb, must(db.Prepare("SELECT id, body FROM bare WHERE thread = ? ORDER BY seq"))(tb))
	row := make([]byte, rowSize)
	v.write = func(ctx context.Context, n int) error {
		_, err := insert.ExecContext(ctx, n, fmt.Appendf(nil, "%016d", n), row)
		return err
	}
	v.read = func(ctx context.Context) (n int, err error) {
		rows, err := query.QueryContext(ctx, 1)
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for ; rows.Next(); n++ {
			var id, body []byte
			if err := rows.Scan(&id, &body); err != nil {
				return n, err
			}
		}
		return n, rows.Err()
	}
}

func openSQLite(tb testing.TB, synchronous string, opts ...sqlite.Option) *venue {
	tb.Helper()
	dir := tb.TempDir()
	path := filepath.Join(dir, "threads.db")
	v := &venue{saver: closes(tb, must(sqlite.Open(path, opts...))(tb))}
	threads := closes(tb, must(sql.Open("sqlite", "file:"+path))(tb))
	v.stored = func() (size int64, err error) {
		err = threads.QueryRow("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()").Scan(&size)
		return size, err
	}
	bare := closes(tb, must(sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?_journal_mode=WAL&_synchronous="+synchronous))(tb))
	bare.SetMaxOpenConns(1)
	v.viaSQL(tb, bare, "CREATE TABLE bare (thread INTEGER, seq INTEGER, id BLOB, body BLOB, PRIMARY KEY (thread, seq)) WITHOUT ROWID",
		"CREATE UNIQUE INDEX bare_id ON bare (thread, id)")
	insert := closes(tb, must(bare.Prepare("INSERT INTO bare (thread, seq, id, body) VALUES (?, ?, ?, ?)"))(tb))
	row := make([]byte, rowSize)
	v.group = func(ctx context.Context, n int) error {
		tx, err := bare.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		in := tx.StmtContext(ctx, insert)  //nolint:sqlclosecheck // the end of the transaction closes it
		for i := n; i < n+groupSize; i++ { // a row for each of 1,000 threads in turn
			if _, err := in.ExecContext(ctx, 2+i%1000, i, fmt.Appendf(nil, "%016d", i), row); err != nil {
				return err
			}
		}
		return tx.Commit()
	}
	return v
}

func openRedis(tb testing.TB) *venue {
	tb.Helper()
	client := closes(tb, goredis.NewClient(&goredis.Options{Addr: testenv.StartRedis(tb, true).Addr}))
	v := &venue{saver: closes(tb, must(redis.New(client))(tb))}
	row := make([]byte, rowSize)
	v.write = func(ctx context.Context, n int) error { return client.HSet(ctx, "bare", strconv.Itoa(n), row).Err() }
	v.read = func(ctx context.Context) (int, error) {
		all, err := client.HGetAll(ctx, "bare").Result()
		return len(all), err
	}
	v.stored = func() (size int64, err error) {
		keys, err := client.Keys(context.Background(), "graphgen:*").Result()
		for _, key := range keys {
			var n int64
			if n, err = client.MemoryUsage(context.Background(), key, 0).Result(); err != nil {
				break
			}
			size += n
		}
		return size, err
	}
	return v
}

func openMySQL(tb testing.TB) *venue {
	tb.Helper()
	config := must(mysql.ParseDSN(testenv.StartMySQL(tb, true).DSN))(tb)
	db := closes(tb, must(sql.Open("mysql", config.FormatDSN()))(tb))
	must(db.Exec("CREATE DATABASE bench"))(tb)
	config.DBName = "bench"
	v := &venue{saver: closes(tb, must(graphmysql.Open(tb.Context(), config.FormatDSN()))(tb))}
	bare := closes(tb, must(sql.Open("mysql", config.FormatDSN()))(tb))
	bare.SetMaxIdleConns(4)
	v.viaSQL(tb, bare, "CREATE TABLE bare (thread BIGINT, seq BIGINT, id BINARY(16), body LONGBLOB, PRIMARY KEY (thread, seq), UNIQUE KEY (thread, id)) ENGINE = InnoDB")
	v.stored = func() (size int64, err error) {
		if _, err := bare.Exec("ANALYZE TABLE graph_thread, graph_version, graph_log, graph_record, graph_write, graph_index"); err != nil { //nolint:misspell // it is spelled so
			return 0, err
		}
		err = bare.QueryRow("SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = 'bench' AND table_name LIKE 'graph%'").Scan(&size)
		return size, err
	}
	return v
}

func openPostgres(tb testing.TB, mode pgx.QueryExecMode, opts ...postgres.Option) *venue {
	tb.Helper()
	dsn := testenv.StartPostgres(tb, true).DSN
	config := must(pgxpool.ParseConfig(dsn))(tb)
	config.ConnConfig.DefaultQueryExecMode = mode
	bare := must(pgxpool.NewWithConfig(tb.Context(), config))(tb)
	tb.Cleanup(bare.Close)
	v := &venue{saver: closes(tb, must(postgres.Open(tb.Context(), dsn, opts...))(tb))}
	for _, text := range strings.Split("CREATE TABLE bare (thread bigint, seq bigint, id bytea, body bytea, PRIMARY KEY (thread, seq)); CREATE UNIQUE INDEX ON bare (thread, id)", "; ") {
		must(bare.Exec(tb.Context(), text))(tb)
	}
	row := make([]byte, rowSize)
	v.write = func(ctx context.Context, n int) error {
		_, err := bare.Exec(ctx, "INSERT INTO bare (thread, seq, id, body) VALUES ($1, $2, $3, $4)", int64(1), int64(n), fmt.Appendf(nil, "%016d", n), row)
		return err
	}
	v.read = func(ctx context.Context) (n int, err error) {
		rows, err := bare.Query(ctx, "SELECT id, body FROM bare WHERE thread = $1 ORDER BY seq", int64(1))
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for ; rows.Next(); n++ {
			var id, body []byte
			if err := rows.Scan(&id, &body); err != nil {
				return n, err
			}
		}
		return n, rows.Err()
	}
	v.stored = func() (size int64, err error) {
		err = bare.QueryRow(context.Background(), "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'graph%'").Scan(&size)
		return size, err
	}
	return v
}
