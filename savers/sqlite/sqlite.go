// Package sqlite is the saver for one machine: all threads in one SQLite file, which several
// processes may share. It needs no server and no C compiler.
//
// A commit is one statement in the write-ahead log. With [Full], the default, it is on the disk
// when Append returns, and survives a power cut. Readers never wait for writers. Writers of one
// process take turns. Calls that wait for their turn are stored by one transaction (a group
// commit). Writers of several processes retry for as long as [BusyTimeout] says.
//
// The file must be on a local disk: SQLite's shared memory does not work over a network.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// Saver stores threads in a SQLite file. Open makes it. A Saver is safe for concurrent use.
type Saver struct{ *sqlsaver.Saver }

var _ checkpoint.Saver = (*Saver)(nil)

// InTx returns a Poster for a transaction of the caller on the same file, opened with any driver.
// The messages are stored, and make threads due, when the transaction commits. Post works also
// while a run holds a thread. Graph.Via submits and signals with it:
//
//	_, err := app.Via(saver.InTx(tx)).Thread("order-7").Submit(ctx, in)
//
// A file has one writer. From Post until the transaction ends, all other writes wait, those of
// runs too, at most for [BusyTimeout]. So end the transaction soon, and do not call methods of the
// saver that write before. The transaction should begin with BEGIN IMMEDIATE, which is
// _txlock=immediate in the name of the database. One that has read before and then writes fails
// if another writer came between.
//
// If Post returns an error, roll back and run the whole transaction again. Post never repeats
// anything itself.
func (s *Saver) InTx(tx *sql.Tx) checkpoint.Poster {
	return s.Saver.InTx(sqlsaver.RunnerOf(tx))
}

// Option changes how Open opens a file.
type Option func(*options)

// options are the settings that an Option changes.
type options struct {
	sqlsaver.Options
	synchronous SyncMode
	readers     int
	maxBytes    int64
	shared      bool
	wrap        func(driver.Connector) driver.Connector // of all connections; for tests
	db          func(sqlsaver.DB) sqlsaver.DB           // gives a test the database
}

// SyncMode says when a write is on the disk.
type SyncMode int

// The values of SyncMode.
const (
	Full   SyncMode = iota // when the call returns
	Normal                 // at some later time, in order: a power cut loses the last commits, a killed process nothing
)

// Synchronous sets when a write is on the disk. The default is Full.
func Synchronous(m SyncMode) Option { return func(o *options) { o.synchronous = m } }

// BusyTimeout sets how long a call waits for writers in other processes. The default is 10 s. A
// call stops waiting when its context ends.
func BusyTimeout(d time.Duration) Option { return func(o *options) { o.Patience = d } }

// Readers sets how many calls may read concurrently. The default is 4. Other calls wait.
func Readers(n int) Option { return func(o *options) { o.readers = n } }

// MaxSize limits the file to a number of bytes, rounded down to pages of 4096. A call that does
// not fit fails as on a full disk: it stores nothing, and nothing that was stored is lost. The
// limit does not count the write-ahead log.
func MaxSize(bytes int64) Option { return func(o *options) { o.maxBytes = bytes } }

// ReadableState keeps the state of each version of a thread as JSON in graph_state, for people and
// for SQL. The transaction that ends, stops or fails a run writes it. Until then, and after a
// crash, it is the state at the end of the previous run. graph_state.seq is the number of the
// checkpoint. The end of every run reads the state, and takes time in proportion to it.
//
// decode returns a payload from what is stored. Pass compress.Decompress for a saver that package
// compress wraps. The payloads must not be encrypted.
func ReadableState(decode ...func(stored []byte) ([]byte, error)) Option {
	return func(o *options) { o.KeepStates(decode...) }
}

// SharedFolder makes Open accept a file, or a folder of one, that everybody may write to, such as
// /tmp. By default, that is an error: everybody who may write there can change threads.
func SharedFolder() Option { return func(o *options) { o.shared = true } }

// ReadOnly opens a file that exists for reading. Open neither makes nor changes tables: it fails
// unless they are of the version that the program knows. Every call that writes fails with
// [checkpoint.ErrReadOnly]. Other processes may write to the file meanwhile. The options that
// concern writes have no effect.
//
// The saver never changes the file, but SQLite may make its -wal and -shm files in the same
// folder. If it cannot, and there is no -wal file, Open takes the file for immutable. Then nobody
// may write to it while the saver is open. With a -wal file Open then fails, because the file
// lacks the newest commits. Copy both files to a folder that can be written.
func ReadOnly() Option { return func(o *options) { o.Mode = sqlsaver.ReadOnly } }

//go:embed queries/*.sql schema
var files embed.FS

var statements = sqlsaver.Load(files)

// syntax is that of SQLite's statements on rows.
var syntax = sqlsaver.Syntax{
	Place:  func(n int) string { return "?" + strconv.Itoa(n) },
	Upsert: " ON CONFLICT (pk) DO UPDATE SET ",
	Take:   "%[1]s = excluded.%[1]s",
	Ignore: " ON CONFLICT DO NOTHING",
	Join:   "CROSS JOIN",
}

// Schema returns the statements that make the tables. It has one file for each version of the
// saver's tables.
func Schema() fs.FS { return sqlsaver.Files(files) }

// Open opens the saver in the file at path, whose folder must exist. A file that does not exist is
// made with mode 0600, which SQLite also gives to its -wal and -shm files. A symbolic link to a
// file that does not exist is an error. A file that exists keeps its mode. The caller must close
// the saver. The error says what is wrong with the file or an option.
func Open(path string, opts ...Option) (*Saver, error) {
	o := options{Options: sqlsaver.Options{Patience: sqlsaver.DefaultPatience}, readers: 4}
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case path == "" || path == ":memory:" || strings.ContainsRune(path, 0):
		return nil, fmt.Errorf("sqlite: open %q: want the path of a file; package savers/memory keeps threads in memory", path)
	case o.Patience <= 0 || o.readers <= 0 || o.maxBytes < 0 || o.synchronous < Full || o.synchronous > Normal:
		return nil, fmt.Errorf("sqlite: open %q: busy time %v, %d readers, at most %d bytes, synchronous %d: want a time and a number above zero, and Full or Normal",
			path, o.Patience, o.readers, o.maxBytes, o.synchronous)
	}
	if err := place(path, &o); err != nil {
		return nil, fmt.Errorf("sqlite: open %q: %w", path, err)
	}
	connect := connect
	if o.Mode == sqlsaver.ReadOnly {
		connect = connectReader
	}
	db, err := connect(path, &o)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %q: %w", path, err)
	}
	if o.db != nil {
		db = o.db(db)
	}
	d := &sqlsaver.Dialect{Name: "sqlite", Files: files, Statements: statements, Rows: &syntax, Classify: classify, Limit: o.limit}
	s, err := sqlsaver.Open(context.Background(), db, d, o.Options)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %q: %w", path, err)
	}
	return &Saver{s}, nil
}

// spin is how long SQLite itself waits for a lock. That wait does not end with a context, so it is
// short, and the saver retries.
const spin = 50 * time.Millisecond

const pageSize = 4096

// logSize is the size to which the write-ahead log shrinks after a transaction that made it
// larger. It is the size at which SQLite moves the log to the file anyway: 1,000 pages.
const logSize = 4 << 20

// connect makes the pools: one connection that writes, so that writers of this process take turns,
// and others that read.
func connect(path string, o *options) (sqlsaver.DB, error) {
	q := readerSettings()
	q.Set("_synchronous", [...]string{Full: "FULL", Normal: "NORMAL"}[o.synchronous])
	read, err := pool(fileURL(path, q), o, o.readers)
	if err != nil {
		return nil, err
	}
	q.Del("_query_only")
	q.Set("_journal_mode", "WAL")
	q.Add("_pragma", "temp_store(2)") // what a statement would undo stays in memory
	q.Add("_pragma", "journal_size_limit("+strconv.Itoa(logSize)+")")
	if o.maxBytes > 0 {
		q.Add("_pragma", "max_page_count("+strconv.FormatInt(max(o.maxBytes/pageSize, 1), 10)+")")
	}
	write, err := pool(fileURL(path, q), o, 1)
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	return newWriter(&sqlsaver.Std{Write: write, Read: read}), nil
}

// readerSettings returns the settings of connections that only read.
func readerSettings() url.Values {
	return url.Values{
		"_busy_timeout": {strconv.FormatInt(spin.Milliseconds(), 10)},
		"_dqs":          {"0"},
		"_foreign_keys": {"0"},
		"_query_only":   {"1"},
	}
}

// fileURL returns the name of a file, with settings, as the driver takes it.
func fileURL(path string, q url.Values) string {
	return "file:" + url.PathEscape(path) + "?" + q.Encode()
}

// pool returns a pool of size connections to the database file.
func pool(dsn string, o *options, size int) (*sql.DB, error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	if o.wrap != nil {
		c = o.wrap(c)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// Result codes of SQLite. An extended code has the plain one in its low byte.
const (
	codeError      = 1
	codeBusy       = 5
	codeLocked     = 6
	codeReadOnly   = 8
	codeFull       = 13
	codeCannotOpen = 14
	codeTooBig     = 18
	codePrimaryKey = 1555
	codeTrigger    = 1811 // graph_checkpoint_once
	codeUnique     = 2067
)

// classify returns what an error of SQLite means for the saver.
func classify(err error) sqlsaver.Fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return sqlsaver.Other
	}
	switch code := e.Code(); {
	case code == codePrimaryKey || code == codeUnique || code == codeTrigger:
		return sqlsaver.Duplicate
	case code&0xff == codeBusy || code&0xff == codeLocked:
		return sqlsaver.RolledBack
	case code&0xff == codeFull:
		return sqlsaver.Full
	case code&0xff == codeTooBig:
		return sqlsaver.TooLarge
	}
	return sqlsaver.Other
}

// mostBytes is SQLITE_MAX_LENGTH: how many bytes a value can have.
const mostBytes = 1_000_000_000

// limit returns how many bytes a value can have.
func (o *options) limit(context.Context, sqlsaver.Runner) (bytes int64, setting string) {
	if o.maxBytes > 0 && o.maxBytes < mostBytes {
		return o.maxBytes, "MaxSize of the saver"
	}
	return mostBytes, "SQLite"
}
