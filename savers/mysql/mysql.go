// Package mysql is the saver on MySQL 8 or MariaDB 10.11 and later: threads in tables that many
// processes share.
//
// A plain commit is one statement and one round trip: an INSERT ... SELECT from the row of the
// thread under the unique key. Runs take a transaction when they open, wait or end, which is one
// round trip too. Leases are on the server's clock. A commit is as durable as the server makes it:
// innodb_flush_log_at_trx_commit=1 and sync_binlog=1 for one that survives a power cut.
//
// Connections run at READ COMMITTED, which a server whose binlog_format is STATEMENT refuses. They
// set sql_mode and the other variables that statements rely on, whatever the server has. A
// checkpoint must fit in the server's max_allowed_packet.
//
// A call that a server refuses because it has become read-only is repeated on a new connection.
package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/connecting"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// Saver stores threads in a database. Open makes it. A Saver is safe for concurrent use.
type Saver struct{ *sqlsaver.Saver }

var _ checkpoint.Saver = (*Saver)(nil)

// InTx returns a Poster for a transaction of the caller on the same database. The messages are
// stored, and make threads due, when the transaction commits. Post works also while a run holds a
// thread. Graph.Via submits and signals with it:
//
//	_, err := app.Via(saver.InTx(tx)).Thread("order-7").Submit(ctx, in)
//
// Post locks the rows of the threads until the transaction ends. Writes of their runs wait for
// that time, so end the transaction soon. Post never repeats anything itself. If it returns an
// error, roll back and run the whole transaction again: it may be a deadlock.
//
// Begin the transaction with sql.LevelReadCommitted. At REPEATABLE READ, the default of servers, a
// Post to a new thread locks the gaps between threads. Then posts to other new threads wait.
// The session of the transaction must have a strict sql_mode and no sql_select_limit.
func (s *Saver) InTx(tx *sql.Tx) checkpoint.Poster {
	return s.Saver.InTx(sqlsaver.RunnerOf(tx))
}

// Option changes how Open opens a database.
type Option func(*options)

// options are the settings that an Option changes.
type options struct {
	sqlsaver.Options
	conns int
}

// VerifySchema makes Open change no table: it fails unless all tables exist and are up to date. By
// default, Open makes missing tables and brings old ones up to date.
func VerifySchema() Option { return func(o *options) { o.Mode = sqlsaver.Verify } }

// RecreateSchema makes Open drop the tables, with all threads in them, and make them again.
func RecreateSchema() Option { return func(o *options) { o.Mode = sqlsaver.Recreate } }

// RetryTimeout sets for how long a call is retried after a deadlock or a lost connection. The
// default is 10 s. A call is retried only if it cannot store anything twice.
func RetryTimeout(d time.Duration) Option { return func(o *options) { o.Patience = d } }

// MaxConns sets the maximum number of connections. The default is 16. Calls that find none free
// wait.
func MaxConns(n int) Option { return func(o *options) { o.conns = n } }

// ReadableState keeps the state of each version of a thread as JSON in graph_state.state_json:
// JSON_EXTRACT(state_json, '$.Status') is the field Status. The transaction that ends, stops or
// fails a run writes it. Until then, and after a crash, it is the state at the end of the previous
// run. graph_state.seq is the number of the checkpoint. The end of every run reads the state, and
// takes time in proportion to it.
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

// Open opens the saver in the database that dsn names, user:password@tcp(host:3306)/database, as
// github.com/go-sql-driver/mysql reads it. The caller must close the saver. The error says what is
// wrong with the DSN, the server or the tables. ctx bounds only the opening.
func Open(ctx context.Context, dsn string, opts ...Option) (*Saver, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("mysql: open: %w", err)
	}
	return OpenConfig(ctx, config, opts...)
}

// OpenConfig is Open with a configuration of the driver, for what a DSN cannot express, such as a
// client certificate. It copies config.
func OpenConfig(ctx context.Context, config *mysql.Config, opts ...Option) (*Saver, error) {
	o := options{Options: sqlsaver.Options{Patience: sqlsaver.DefaultPatience}, conns: 16}
	for _, opt := range opts {
		opt(&o)
	}
	if o.Patience <= 0 || o.conns <= 0 {
		return nil, fmt.Errorf("mysql: open: RetryTimeout %v, %d connections: want more than zero", o.Patience, o.conns)
	}
	db, err := connect(config.Clone(), &o)
	if err != nil {
		return nil, fmt.Errorf("mysql: open: %w", err)
	}
	d := &sqlsaver.Dialect{Name: "mysql", Files: files, Statements: statements, Rows: &syntax, Classify: classify, Limit: limit}
	s, err := sqlsaver.Open(ctx, db, d, o.Options)
	if err != nil {
		return nil, fmt.Errorf("mysql: open: %w", err)
	}
	return &Saver{s}, nil
}

// connect makes the pool.
func connect(config *mysql.Config, o *options) (sqlsaver.DB, error) {
	if err := check(config); err != nil {
		return nil, err
	}
	if config.MaxAllowedPacket == mysql.NewConfig().MaxAllowedPacket {
		config.MaxAllowedPacket = 0 // the server's: one that is sent more breaks the connection, and does not say why
	}
	config.ClientFoundRows = true // rows that a statement found, changed or not
	config.InterpolateParams = false
	config.MultiStatements = true      // for batches
	config.Logger = &mysql.NopLogger{} // what it would print, the errors say
	c, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&connector{c})
	db.SetMaxOpenConns(o.conns)
	db.SetMaxIdleConns(o.conns)
	db.SetConnMaxIdleTime(waitLimit / 2)
	return database{&sqlsaver.Std{
		Write: db, Read: db,
		Reading: sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	}}, nil
}

// connector sets up connections.
type connector struct{ driver.Connector }

// variables pins what statements rely on. A server can have other values for its sessions, and the
// URL can ask for others. sql_mode changes the syntax, the meaning of texts and of ”, and whether
// a value that does not fit is an error. The others leave out rows, change their order, refuse
// statements, or change what a commit does.
const variables = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_limit = 18446744073709551615, " +
	"sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0, autocommit = 1, completion_type = 0, unique_checks = 1, " +
	"max_sort_length = 1024"

// Connect makes a connection with these variables, at READ COMMITTED. Its transactions lock rows,
// and not the gaps between them, because the unique keys keep rows out.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) && e.Number == errNoVariable {
		return nil, fmt.Errorf("a setting that the driver does not know is a variable of the session: %w", err)
	}
	if err != nil {
		return nil, err
	}
	exec, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("the driver's connections run no statements"), conn.Close())
	}
	_, err = exec.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE", nil)
	if err == nil {
		_, err = exec.ExecContext(ctx, fmt.Sprintf("%s, idle_transaction_timeout = %d", variables, seconds(sqlsaver.IdleLimit)), nil)
	}
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) && e.Number == errNoVariable { // MySQL limits all idle connections
		_, err = exec.ExecContext(ctx, fmt.Sprintf("%s, wait_timeout = %d", variables, seconds(waitLimit)), nil)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return watch(conn)
}

// waitLimit is how long MySQL keeps a connection whose client sends nothing, with the transaction
// of a client that is stopped or cut off. MariaDB can limit idle transactions alone, and keeps
// them for sqlsaver.IdleLimit. The pool closes idle connections earlier.
const waitLimit = 10 * time.Second

// seconds returns d in whole seconds.
func seconds(d time.Duration) int { return int(d / time.Second) }

// Error numbers of MySQL and MariaDB.
const (
	errDiskFull    = 1021
	errRecordFull  = 1114
	errTooMany     = 1040 // connections
	errShutdown    = 1053
	errNull        = 1048
	errNoVariable  = 1193
	errDuplicate   = 1062
	errLockTimeout = 1205
	errDeadlock    = 1213
	errKilled      = 1317
	errConnKilled  = 1927
	errUnknown     = 1105 // of MariaDB: a value is larger than a packet, among others
	errPacket      = 1153
	errIdle        = 4031

	// Of a server that takes no writes: a replica, or a primary that a failover has demoted.
	errReadOnlyOption = 1290
	errReadOnlyTx     = 1792
	errReadOnlyMode   = 1836
)

// classify returns what an error of MySQL or MariaDB means for the saver.
func classify(err error) sqlsaver.Fault {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		switch e.Number {
		case errDuplicate:
			return sqlsaver.Duplicate
		case errLockTimeout, errDeadlock, errTooMany,
			errReadOnlyOption, errReadOnlyTx, errReadOnlyMode: // the connection is closed, and the next one may find the primary
			return sqlsaver.RolledBack
		case errShutdown, errKilled, errConnKilled, errIdle:
			return sqlsaver.Lost
		case errDiskFull, errRecordFull:
			return sqlsaver.Full
		case errUnknown, errPacket:
			if strings.Contains(e.Message, packetSetting) {
				return sqlsaver.TooLarge
			}
		}
		return sqlsaver.Other
	}
	var network net.Error
	switch {
	case errors.Is(err, mysql.ErrPktTooLarge):
		return sqlsaver.TooLarge
	case connecting.Hopeless(err):
		return sqlsaver.Other
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return sqlsaver.Lost
	}
	return sqlsaver.Other
}

// syntax is how statements on rows look on MySQL and MariaDB.
var syntax = sqlsaver.Syntax{
	Place:  func(int) string { return "?" },
	Bytes:  "CAST(%s AS BINARY)",
	Upsert: " ON DUPLICATE KEY UPDATE ",
	Take:   "%[1]s = VALUES(%[1]s)",
	Ignore: " ON DUPLICATE KEY UPDATE pk = pk",
	Share:  " LOCK IN SHARE MODE",
	Lock:   " FOR UPDATE",
	Skip:   " FOR UPDATE SKIP LOCKED",
	NoWait: " FOR UPDATE NOWAIT",
	Join:   "STRAIGHT_JOIN",
	Now:    "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
	Parens: true,
}

// packetSetting is the variable of the server that limits the size of a value.
const packetSetting = "max_allowed_packet"

// limit returns how many bytes a value can have.
func limit(ctx context.Context, db sqlsaver.Runner) (bytes int64, setting string) {
	rows, err := db.Query(ctx, "SELECT @@"+packetSetting)
	if err != nil {
		return 0, ""
	}
	for rows.Next() {
		err = rows.Scan(&bytes)
	}
	if err = errors.Join(err, rows.Close()); err != nil {
		return 0, ""
	}
	return bytes, packetSetting + " of the server"
}
