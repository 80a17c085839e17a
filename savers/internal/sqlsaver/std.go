//nolint:sqlclosecheck,rowserrcheck // statements are kept until Close, and rows are for the caller to close
package sqlsaver

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// Std is a DB on database/sql. It prepares the texts of Prepare, and those that run outside of a
// transaction, once on each connection. Each transaction prepares other texts again.
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
	on   Preparer
	text string
}

// Preparer is a database or one of its connections.
type Preparer interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

// Prepare prepares texts, so that a transaction finds them prepared.
func (s *Std) Prepare(ctx context.Context, reads, writes []string) error {
	for _, text := range reads {
		if _, err := s.Statement(ctx, s.Read, text); err != nil {
			return err
		}
	}
	for _, text := range writes {
		if _, err := s.Statement(ctx, s.Write, text); err != nil {
			return err
		}
	}
	return nil
}

// Statement returns the prepared statement of a text. Texts are few, because they hold no data.
func (s *Std) Statement(ctx context.Context, on Preparer, text string) (*sql.Stmt, error) {
	at := place{on, text}
	s.mu.Lock()
	st := s.prepared[at]
	s.mu.Unlock()
	if st != nil {
		return st, nil
	}
	made, err := on.PrepareContext(ctx, text)
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

// Forget closes the prepared statements of a connection.
func (s *Std) Forget(on Preparer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, st := range s.prepared {
		if at.on == on {
			_ = st.Close() // the connection closes too
			delete(s.prepared, at)
		}
	}
}

// Exec runs a statement and commits it.
func (s *Std) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	return s.On(s.Write).Exec(ctx, text, args...)
}

// On returns what runs statements on a database or a connection.
func (s *Std) On(on Preparer) Prepared {
	return func(ctx context.Context, text string) (*sql.Stmt, error) { return s.Statement(ctx, on, text) }
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
	return s.On(s.Read).Query(ctx, text, args...)
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
	return newStdTx(s, db, tx), nil
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

// Prepared runs the prepared statements that it returns for texts. It has the calls of a Tx but
// its end, and sends nothing later.
type Prepared func(ctx context.Context, text string) (*sql.Stmt, error)

// Exec runs a statement and returns the number of rows that it found.
func (p Prepared) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	st, err := p(ctx, text)
	if err != nil {
		return 0, err
	}
	return found(st.ExecContext(ctx, args...))
}

// Query runs a statement that returns rows.
func (p Prepared) Query(ctx context.Context, text string, args ...any) (Rows, error) {
	st, err := p(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// Later runs a statement now.
func (p Prepared) Later(ctx context.Context, scan func(Rows) error, text string, args ...any) error {
	if scan == nil {
		_, err := p.Exec(ctx, text, args...)
		return err
	}
	found, err := p.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	return each(found, scan)
}

// stdTx is a Tx of database/sql.
type stdTx struct {
	Prepared
	tx *sql.Tx
}

// newStdTx returns a transaction on db. It uses the statements that Prepare has prepared. Its own
// connection prepares other texts: no other connection may be free.
func newStdTx(s *Std, db *sql.DB, tx *sql.Tx) *stdTx {
	return &stdTx{tx: tx, Prepared: func(ctx context.Context, text string) (*sql.Stmt, error) {
		s.mu.Lock()
		st := s.prepared[place{db, text}]
		s.mu.Unlock()
		if st == nil {
			return tx.PrepareContext(ctx, text)
		}
		return tx.StmtContext(ctx, st), nil
	}}
}

// RunnerOf returns a Runner on a transaction of the caller, which the caller ends.
func RunnerOf(tx *sql.Tx) Runner { return newStdTx(new(Std), nil, tx) }

// Raw returns the transaction of database/sql.
func (t *stdTx) Raw() *sql.Tx { return t.tx }

func (t *stdTx) Commit(context.Context) error { return t.tx.Commit() }

func (t *stdTx) Rollback(context.Context) { _ = t.tx.Rollback() } // a lost connection has rolled it back
