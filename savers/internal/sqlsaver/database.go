// Package sqlsaver keeps the rows of package rows in SQL databases. These differ by a [Dialect],
// which has their tables, their statements and what their errors mean, and by a [DB], which
// reaches them.
//
// # Rows
//
// A [RowStore] makes its statements of a [Syntax], because they are alike for all tables. A Read
// is one statement. A change is one statement or a transaction. PostgreSQL has functions for both
// ([Calls]), and MySQL takes the statements of a transaction in one text ([Batcher]): there, each
// is one round trip.
//
// # The store
//
// The folder queries of each saver has the statements of the store and of its tables in plain SQL.
// One can read them, run them and ask the server for their plans. The program knows a statement by
// its number; signatures gives each its name in the files and its parameters. Opening fails unless
// the files have all statements, with these parameters, and no others. The folder schema has the
// statements that make the tables.
package sqlsaver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Database is what a [RowStore] and a [Store] have in common: a database and how to reach it.
type Database struct {
	db       DB
	d        *Dialect
	queries  *Statements
	patience time.Duration
	mode     Mode // of the tables

	calls  sync.RWMutex // held for reading by every call; Close takes it whole
	closed bool
}

// Options are the settings of a saver.
type Options struct {
	// Mode says what to do about the tables.
	Mode Mode
	// Patience is how long a call that meets locks or deadlocks retries; zero is DefaultPatience.
	Patience time.Duration
	// Packing says when records are packed; zero is pack.Default.
	Packing pack.Policy
	// Readable keeps the state of each version as JSON in graph_state, as the newest run that
	// ended left it.
	Readable bool
	// Decode returns the payload of a record from what is stored; nil returns its argument.
	Decode func(stored []byte) ([]byte, error)
}

// KeepStates makes states readable, with at most one function for Decode.
func (o *Options) KeepStates(decode ...func(stored []byte) ([]byte, error)) {
	o.Readable = true
	if len(decode) > 0 {
		o.Decode = decode[0]
	}
}

// IdleLimit is how long the server keeps a transaction, with its locks, whose client sends
// nothing, because its process is stopped or cut off. It is well below the default lease. A client
// that was only slow retries its call.
const IdleLimit = 2 * time.Second

// DefaultPatience is how long a call retries by default.
const DefaultPatience = 10 * time.Second

// openDatabase returns a database, whose tables it makes, changes or verifies as the mode says.
// It owns db from then on, also if it fails.
func openDatabase(ctx context.Context, db DB, d *Dialect, o Options) (*Database, error) {
	s := &Database{db: db, d: d, patience: o.Patience, mode: o.Mode}
	if s.patience == 0 {
		s.patience = DefaultPatience
	}
	var err error
	if s.queries, err = d.Statements(); err != nil {
		err = fmt.Errorf("%s: statements: %w", d.Name, err)
	}
	if err == nil {
		err = s.migrate(ctx, saverTables(), o.Mode)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// begin starts a call, unless ctx has ended or the saver is closed. Every call that it starts must
// call end.
func (s *Database) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", s.d.Name, err)
	}
	s.calls.RLock()
	if s.closed {
		s.calls.RUnlock()
		return fmt.Errorf("%s: %w", s.d.Name, checkpoint.ErrClosed)
	}
	return nil
}

// end ends a call that begin has counted.
func (s *Database) end() { s.calls.RUnlock() }

// Close closes the database. A second Close does nothing.
func (s *Database) Close() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.wrap(context.Background(), "close", s.db.Close())
}

// try makes a call, and retries it for the saver's patience while nothing was stored. If worst is
// Lost, it also retries a call whose outcome is unknown: such a call must change nothing the
// second time.
func (s *Database) try(ctx context.Context, worst Fault, call func() error) error {
	var timer *time.Timer
	start, wait := time.Now(), time.Millisecond
	for {
		err := call()
		if err == nil {
			return nil
		}
		fault := s.fault(err)
		again := fault == RolledBack || fault == Lost && worst == Lost
		if !again || ctx.Err() != nil || time.Since(start) > s.patience {
			return err
		}
		pause := wait/2 + rand.N(wait) // so that calls that met do not meet again
		if timer == nil {
			timer = time.NewTimer(pause)
			defer timer.Stop()
		} else {
			timer.Reset(pause)
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return err
		}
		wait = min(2*wait, 50*time.Millisecond)
	}
}

// againError is the error of a call that stored nothing, and whose retry finds another state.
type againError struct{ error }

func (e *againError) Unwrap() error { return e.error }

// fault says what an error means for the call.
func (s *Database) fault(err error) Fault {
	if errors.As(err, new(*againError)) {
		return RolledBack
	}
	return s.d.Classify(err)
}

// write runs f in a transaction and commits it. It retries as try does.
func (s *Database) write(ctx context.Context, worst Fault, f func(tx Tx) error) error {
	return s.try(ctx, worst, func() error { return s.transact(ctx, f) })
}

// transact is write without retries. If the connection is lost before the commit was sent, the
// server rolls back, so nothing was stored. That happens to a client that was slow for longer than
// IdleLimit.
func (s *Database) transact(ctx context.Context, f func(tx Tx) error) error {
	tx, err := s.db.Begin(ctx, true)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if err := f(tx); err != nil {
		if s.fault(err) == Lost {
			return &againError{err}
		}
		return err
	}
	return tx.Commit(ctx)
}

// shared is transact for a short f, in a transaction that may store other calls too.
func (s *Database) shared(ctx context.Context, f func(ctx context.Context, tx Tx) error) error {
	if db, can := s.db.(Sharer); can {
		return db.Share(ctx, f)
	}
	return s.transact(ctx, func(tx Tx) error { return f(ctx, tx) })
}

// read runs f in a transaction that sees the database as it is at one moment. It retries.
func (s *Database) read(ctx context.Context, f func(tx Tx) error) error {
	return s.try(ctx, Lost, func() error {
		tx, err := s.db.Begin(ctx, false)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		return f(tx)
	})
}

// wrap names the saver and the call in an error. It returns errors of the protocol as they are.
func (s *Database) wrap(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*checkpoint.InvalidError)), errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrNotFound):
		return err
	}
	return fmt.Errorf("%s: %s: %w", s.d.Name, what, s.explain(ctx, err))
}

// explain adds to an error of the database what it means for the caller.
func (s *Database) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if over := ended(ctx, err); over != nil && !errors.Is(err, over) { // drivers have errors of their own for it
		return fmt.Errorf("%w: %w", over, err)
	}
	if fault := s.fault(err); fault == RolledBack || fault == Lost {
		return fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
	}
	return err
}

// sized returns a *SizeError if a call failed because of values of at most size bytes, else err.
func (s *Database) sized(ctx context.Context, err error, size int) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	fault := s.fault(err)
	asks := fault == TooLarge || fault == Full || (fault == Lost || fault == Other) && size >= large
	if !asks {
		return err
	}
	limit, setting := s.d.Limit(ctx, s.db)
	if fault == TooLarge || limit > 0 && int64(size) > limit {
		return &checkpoint.SizeError{Size: size, Limit: limit, Setting: setting, Err: err}
	}
	return err
}

// large is the least size of a value that a server may refuse. A server can also close the
// connection when it gets such a value. A file is full when a value does not fit.
const large = 1 << 20

// ended returns why ctx has ended, or nil. A connection that has the deadline of ctx may notice
// that it has passed before the timer of ctx does.
func ended(ctx context.Context, err error) error {
	deadline, has := ctx.Deadline()
	if ctx.Err() == nil && has && errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}
