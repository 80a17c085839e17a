// Package postgres is the saver on PostgreSQL 13 and later: threads in tables that many processes
// share.
//
// A commit is one statement and one round trip, also the one that ends a run. The opening of a new
// thread is one, too. Leases are on the server's clock. A commit is as durable as the server makes
// it: synchronous_commit=on, the default, survives a power cut.
//
// It works behind a pooler that gives a connection for one transaction only, such as PgBouncer. It
// changes no session, and prepares no statement without [PrepareStatements]. An [Engine] needs a
// direct connection to listen.
//
// No statement relies on settings of the session, such as bytea_output. A call that a server
// refuses because it is a standby (SQLSTATE 25006) is repeated on a new connection.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/connecting"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// Saver stores threads in a database. Open makes it. A Saver is safe for concurrent use.
type Saver struct {
	*sqlsaver.Saver
	pool *pgxpool.Pool
}

var _ checkpoint.Saver = (*Saver)(nil)

// InTx returns a Poster for a transaction of the caller on the same database and schema. The
// messages are stored, and make threads due, when the transaction commits. Post works also while a
// run holds a thread, and takes two round trips. Graph.Via submits and signals with it:
//
//	_, err := app.Via(saver.InTx(tx)).Thread("order-7").Submit(ctx, in)
//
// Post locks the rows of the threads until the transaction ends. Writes of their runs wait for
// that time, so end the transaction soon. Post never repeats anything itself. If it returns an
// error, roll back and run the whole transaction again: it may be a deadlock.
func (s *Saver) InTx(tx pgx.Tx) checkpoint.Poster { return s.Saver.InTx(runner{tx}) }

// Option changes how Open opens a database.
type Option func(*options)

// options are the settings that an Option changes.
type options struct {
	sqlsaver.Options
	conns   int
	prepare bool
	use     func(*pgxpool.Pool) // gets the pool; for tests
}

// VerifySchema makes Open change no table: it fails unless all tables exist and are up to date. By
// default, Open makes missing tables and brings old ones up to date.
func VerifySchema() Option { return func(o *options) { o.Mode = sqlsaver.Verify } }

// RecreateSchema makes Open drop the tables, with all threads in them, and make them again.
func RecreateSchema() Option { return func(o *options) { o.Mode = sqlsaver.Recreate } }

// RetryTimeout sets for how long a call is retried after a deadlock or a lost connection. The
// default is 10 s. A call is retried only if it cannot store anything twice.
func RetryTimeout(d time.Duration) Option { return func(o *options) { o.Patience = d } }

// defaultConns is the default maximum of connections.
const defaultConns = 16

// MaxConns sets the maximum number of connections. The default is pool_max_conns of the URL, or
// 16. Calls that find none free wait.
func MaxConns(n int) Option { return func(o *options) { o.conns = n } }

// PrepareStatements makes connections keep prepared statements, so that the server does not plan
// each call. Use it on direct connections to the server, or through a pooler that supports
// prepared statements, such as PgBouncer 1.21 with max_prepared_statements. Open fails if it
// detects a pooler that does not. If the pooler is too busy to be detected, calls fail later with
// the same error.
func PrepareStatements() Option { return func(o *options) { o.prepare = true } }

// ReadableState keeps the state of each version of a thread as JSONB in graph_state.state_json:
// state_json->>'Status' is the field Status. The transaction that ends, stops or fails a run
// writes it. Until then, and after a crash, it is the state at the end of the previous run.
// graph_state.seq is the number of the checkpoint. The end of every run reads the state, and takes
// time in proportion to it.
//
// decode returns a payload from what is stored. Pass compress.Decompress for a saver that package
// compress wraps. The payloads must not be encrypted.
func ReadableState(decode ...func(stored []byte) ([]byte, error)) Option {
	return func(o *options) { o.KeepStates(decode...) }
}

//go:embed queries/*.sql schema
var files embed.FS

var statements = sqlsaver.Load(files)

// Schema returns the statements that make the tables, for users who run migrations themselves. It
// has one file for each version of the saver's tables. After each file, insert its version into
// graph_schema, as Open does: 26 after 0026_rows.sql.
func Schema() fs.FS { return sqlsaver.Files(files) }

// Open opens the saver in the database that url names, postgres://user:password@host:5432/database
// or in the form key=value, as pgx reads it. It ignores default_query_exec_mode. The tables are in
// the first schema of search_path. The caller must close the saver. The error says what is wrong
// with the URL, the server or the tables. ctx bounds only the opening.
func Open(ctx context.Context, url string, opts ...Option) (*Saver, error) {
	o := options{Options: sqlsaver.Options{Patience: sqlsaver.DefaultPatience}, conns: defaultConns}
	for _, opt := range opts {
		opt(&o)
	}
	if o.Patience <= 0 || o.conns <= 0 || o.conns > 1<<20 {
		return nil, fmt.Errorf("postgres: open: RetryTimeout %v, %d connections: want more than zero, and at most %d connections", o.Patience, o.conns, 1<<20)
	}
	config, err := parse(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	if o.conns != defaultConns || !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = int32(o.conns)
	}
	sessions(config)
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	if o.prepare {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
		if err := canPrepare(ctx, config.ConnConfig); err != nil {
			return nil, fmt.Errorf("postgres: open: %w", err)
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	if o.use != nil {
		o.use(pool)
	}
	d := &sqlsaver.Dialect{
		Name: "postgres", Files: files, Statements: statements, Rows: &syntax, Classify: classify, Limit: limit,
		IndexVectors: vectorIndexes{create: o.Mode != sqlsaver.Verify}.open,
	}
	s, err := sqlsaver.Open(ctx, &db{pool}, d, o.Options)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	return &Saver{s, pool}, nil
}

// classify returns what an error of PostgreSQL or of the connection means for the saver.
func classify(err error) sqlsaver.Fault {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		if strings.HasPrefix(e.Message, "invalid memory alloc request size") {
			return sqlsaver.TooLarge
		}
		return classifyCode(e.Code)
	}
	var network net.Error
	var connect *pgconn.ConnectError
	switch {
	case connecting.Hopeless(err):
		return sqlsaver.Other
	case pgconn.SafeToRetry(err): // nothing was sent
		return sqlsaver.RolledBack
	case errors.As(err, &connect), errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed):
		return sqlsaver.Lost
	}
	return sqlsaver.Other
}

// classifyCode returns the fault of an SQLSTATE.
func classifyCode(code string) sqlsaver.Fault {
	switch code {
	case "23505": // a unique key stands
		return sqlsaver.Duplicate
	case "40001", "40P01", "55P03", "53300", // serial order not possible, deadlock, lock not available, too many connections
		"25P03", "57P05", // the connection was idle for too long
		codeReadOnly: // the connection is closed, and the next one may find the primary
		return sqlsaver.RolledBack
	case "57P01", "57P02", "57P03": // the server ends, or crashed, or is not up yet
		return sqlsaver.Lost
	case "53100": // the disk is full
		return sqlsaver.Full
	case "54000": // a limit of the program
		return sqlsaver.TooLarge
	}
	if strings.HasPrefix(code, "08") { // of the connection
		return sqlsaver.Lost
	}
	return sqlsaver.Other
}

// limit returns how many bytes a value can have.
func limit(context.Context, sqlsaver.Runner) (bytes int64, setting string) {
	return 1<<30 - 1, "PostgreSQL"
}
