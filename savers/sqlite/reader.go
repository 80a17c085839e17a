package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"modernc.org/sqlite"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// reader is the DB of a saver that was opened for reading.
type reader struct{ *sqlsaver.Std }

// Exec implements sqlsaver.DB.
func (r *reader) Exec(context.Context, string, ...any) (int64, error) {
	return 0, checkpoint.ErrReadOnly
}

// Begin implements sqlsaver.DB.
func (r *reader) Begin(ctx context.Context, writes bool) (sqlsaver.Tx, error) {
	if writes {
		return nil, checkpoint.ErrReadOnly
	}
	return r.Std.Begin(ctx, false)
}

// Prepare implements sqlsaver.DB.
func (r *reader) Prepare(ctx context.Context, reads, _ []string) error {
	return r.Std.Prepare(ctx, reads, nil)
}

// connectReader makes the pool of a reader.
func connectReader(path string, o *options) (sqlsaver.DB, error) {
	q := readerSettings()
	q.Set("mode", "ro")
	db, err := pool(fileURL(path, q), o, o.readers)
	if err != nil {
		return nil, err
	}
	switch err := readable(db); {
	case err == nil:
		return &reader{&sqlsaver.Std{Write: db, Read: db}}, nil
	case !cannotOpen(err):
		return nil, errors.Join(err, db.Close())
	default:
		return connectImmutable(path, q, o, errors.Join(err, db.Close()))
	}
}

// connectImmutable is connectReader for a file in a folder in which SQLite cannot make its other
// files. cause is the error of SQLite.
func connectImmutable(path string, q url.Values, o *options, cause error) (sqlsaver.DB, error) {
	info, err := os.Stat(path + "-wal")
	switch {
	case err == nil && info.Size() > 0:
		return nil, fmt.Errorf("its folder is read-only, and the newest commits are in %s-wal; copy both files to a folder that can be written: %w", path, cause)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, errors.Join(cause, err)
	}
	q.Set("immutable", "1")
	db, err := pool(fileURL(path, q), o, o.readers)
	if err != nil {
		return nil, err
	}
	return &reader{&sqlsaver.Std{Write: db, Read: db}}, nil
}

// readable reads the file once.
func readable(db *sql.DB) error {
	var tables int
	return db.QueryRowContext(context.Background(), "SELECT count(*) FROM sqlite_schema").Scan(&tables)
}

// cannotOpen reports whether SQLite could not open one of the files that it needs.
func cannotOpen(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == codeReadOnly || code == codeCannotOpen
}
