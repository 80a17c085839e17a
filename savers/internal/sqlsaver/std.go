//nolint:sqlclosecheck,rowserrcheck // statements are kept until Close, and rows are for the caller to close
package sqlsaver

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// Std is a DB on database/sql. It prepares each statement once on each connection.
type Std struct {
	Write *sql.DB // runs statements and transactions that write
	Read  *sql.DB // runs transactions that only read, and queries outside of one; may be the same
	// Reading are the options of a transaction that only reads.
	Reading sql.TxOptions

	mu       sync.Mutex
	prepared map[place]*sql.Stmt
}

var _ DB = (*Std)(nil)

// place says where a statement was prepared.
type place struct {
	db   *sql.DB
	text string
}

// Prepare prepares texts, so that a transaction finds them prepared.
func (s *Std) Prepare(ctx context.Context, reads, writes []string) error {
	for _, text := range reads {
		if _, err := s.prepare(ctx, s.Read, text); err != nil {
			return err
		}
	}
	for _, text := range writes {
		if _, err := s.prepare(ctx, s.Write, text); err != nil {
			return err
		}
	}
	return nil
}

// prepare returns the prepared statement of a text. Texts are few, because they hold no data.
func (s *Std) prepare(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	at := place{db, text}
	s.mu.Lock()
	st := s.prepared[at]
	s.mu.Unlock()
	if st != nil {
		return st, nil
	}
	made, err := db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.prepared[at]; st != nil { // another call was faster
		return st, made.Close()
	}
	if s.prepared == nil {
		s.prepared = make(map[place]*sql.Stmt)
	}
	s.prepared[at] = made
	return made, nil
}

// Exec runs a statement and commits it.
func (s *Std) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	st, err := s.prepare(ctx, s.Write, text)
	if err != nil {
		return 0, err
	}
	return found(st.ExecContext(ctx, args...))
}

// found returns how many rows a statement changed.
func found(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Query runs a statement that reads.
func (s *Std) Query(ctx context.Context, text string, args ...any) (Rows, error) {
	st, err := s.prepare(ctx, s.Read, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// Begin starts a transaction.
func (s *Std) Begin(ctx context.Context, writes bool) (Tx, error) {
	db, opts := s.Write, (*sql.TxOptions)(nil)
	if !writes {
		db, opts = s.Read, &s.Reading
	}
	tx, err := db.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &stdTx{s: s, db: db, tx: tx}, nil
}

// Close closes the statements and the databases.
func (s *Std) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, st := range s.prepared {
		errs = append(errs, st.Close())
	}
	s.prepared = nil
	errs = append(errs, s.Write.Close())
	if s.Read != s.Write {
		errs = append(errs, s.Read.Close())
	}
	return errors.Join(errs...)
}

// stdTx is a Tx of database/sql.
type stdTx struct {
	s  *Std
	db *sql.DB
	tx *sql.Tx
}

// RunnerOf returns a Runner on a transaction of the caller, which the caller ends.
func RunnerOf(tx *sql.Tx) Runner { return &stdTx{s: new(Std), tx: tx} }

// Raw returns the transaction of database/sql.
func (t *stdTx) Raw() *sql.Tx { return t.tx }

// bind returns a prepared statement for use in the transaction. The transaction's own connection
// prepares a text that Prepare has not: no other connection may be free.
func (t *stdTx) bind(ctx context.Context, text string) (*sql.Stmt, error) {
	t.s.mu.Lock()
	st := t.s.prepared[place{t.db, text}]
	t.s.mu.Unlock()
	if st == nil {
		return t.tx.PrepareContext(ctx, text)
	}
	return t.tx.StmtContext(ctx, st), nil
}

func (t *stdTx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	st, err := t.bind(ctx, text)
	if err != nil {
		return 0, err
	}
	return found(st.ExecContext(ctx, args...))
}

func (t *stdTx) Pipeline(ctx context.Context, calls []Call, scan func(call int, rows Rows) error) error {
	for i, call := range calls {
		rows, err := t.Query(ctx, call.Text, call.Args...)
		if err == nil {
			err = each(rows, func(rows Rows) error { return scan(i, rows) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *stdTx) Later(ctx context.Context, scan func(Rows) error, text string, args ...any) error {
	if scan == nil {
		_, err := t.Exec(ctx, text, args...)
		return err
	}
	found, err := t.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	return each(found, scan)
}

func (t *stdTx) Query(ctx context.Context, text string, args ...any) (Rows, error) {
	st, err := t.bind(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (t *stdTx) Commit(context.Context) error { return t.tx.Commit() }

func (t *stdTx) Rollback(context.Context) { _ = t.tx.Rollback() } // a lost connection has rolled it back
