// Package sqlsaver is the commit protocol on tables: one implementation for all SQL databases.
// They differ by a [Dialect], which has their statements and tables, and by a [DB], which reaches
// them.
//
// # Statements
//
// The folder queries of each saver has its statements in plain SQL. One can read them, run them
// and ask the server for their plans. Only values are bound to them. The program knows a statement
// by its number; signatures gives each its name in the files and its parameters. [Open] fails
// unless the files have all statements, with these parameters, and no others. The folder schema
// has the statements that make the tables. The Go code of each saver has those that begin and end
// transactions and set up connections.
//
// # Tables
//
// graph_thread has a row for each thread: its open version, with fence, lease and status.
// graph_version has one for each version. graph_log has one for each namespace of a version, the
// root's first; the number of that one identifies the version in other tables. graph_checkpoint
// has the records, clustered by log and seq, so that a chain is one range. graph_line has one row
// for what the records of a run share: line, fingerprint and graph. graph_write has the pending
// writes.
//
// A record does not repeat the id of the record with the seq before. If parent is NULL, that
// record is its parent. If commits_previous is set, it commits that record. When Prune removes a
// record, it rewrites the next one, so that it holds the ids itself. Prune also marks the one
// before: next_removed, and marked_committed if the removed record committed it.
//
// A payload of more than 256 bytes has a column of its own, so that headers are read without it
// (Query.Headers). The body has its checksum. A pack is always read whole: it has at most 64 KB,
// and a part of it would take another statement.
//
// # Packs
//
// graph_pack has old records of a log that follow each other, in one row; package pack says in
// which form. A record is in a row of graph_checkpoint or in a pack, never in both. Packs are only
// read. A transaction that changes a packed record, or must compare its id, first moves the
// records of that pack back into rows (unpack). So all other statements know rows alone. The row
// after a pack holds its ids itself, as after a Prune; the row before it is marked in the same
// way. Packing removes the lines that no row of the log has any more. graph_log has the seq up to
// which packing has looked at a log (settled); unpack sets it back.
//
// # Loads
//
// A load runs two statements, each in one round trip and without a transaction. stPlace finds the
// log, its head and the snapshot to begin with. stChain reads the records, packs, lines and
// pending writes, and once more those values of stPlace that change. If they differ, the thread
// has changed between the two, and the load runs them again in a transaction.
//
// # Locks
//
// Every write locks its thread's row: a commit against changes, every other call to change it.
// Values that are read under that lock are valid until the transaction ends. A plain commit is one
// statement, and on PostgreSQL so is a plain opening. It stores its rows if all its conditions
// hold, and nothing otherwise. A transaction then finds the reason. A saver remembers the heads of
// its runs, so that the statement finds the head by its key.
//
// # Writes of committed bases
//
// A pending write whose base is committed is never returned. Its row is removed when a run next
// opens, or renews its lease by a commit.
package sqlsaver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Saver is a checkpoint.Saver on a DB. Open makes it.
type Saver struct {
	db       DB
	d        *Dialect
	queries  *Statements
	patience time.Duration
	readable bool
	decode   func(stored []byte) ([]byte, error) // for a readable state
	mode     Mode                                // of the tables

	calls  sync.RWMutex // held for reading by every call; Close takes it whole
	closed bool

	mu   sync.Mutex
	runs map[checkpoint.ID]*run // by fence: those that this saver opened and that have not ended

	low   map[string]lowMark // by graph
	turns ledger.Turns

	states map[int64]state // of a readable saver, by the log of the root

	packing pack.Policy
	packer  *pack.Queue[job]
}

var _ checkpoint.Saver = (*Saver)(nil)

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

// IdleLimit is how long the server keeps a transaction, with its locks, whose client sends
// nothing, because its process is stopped or cut off. It is well below the default lease. A client
// that was only slow retries its call.
const IdleLimit = 2 * time.Second

// DefaultPatience is how long a call retries by default.
const DefaultPatience = 10 * time.Second

// Open returns a saver on a database, whose tables it makes, changes or verifies as the mode says.
// It owns db from then on, also if it fails.
func Open(ctx context.Context, db DB, d *Dialect, o Options) (*Saver, error) {
	s := &Saver{
		db: db, d: d, patience: o.Patience, readable: o.Readable, decode: o.Decode, packing: o.Packing, mode: o.Mode,
		runs: make(map[checkpoint.ID]*run), states: make(map[int64]state),
		low: make(map[string]lowMark),
	}
	if s.patience == 0 {
		s.patience = DefaultPatience
	}
	if s.packing.Every == 0 {
		s.packing = pack.Default
	}
	s.packer = pack.NewQueue(s.packJob)
	var err error
	if s.queries, err = d.Statements(); err != nil {
		err = fmt.Errorf("%s: statements: %w", d.Name, err)
	}
	if err == nil {
		err = s.migrate(ctx, saverTables(), o.Mode)
	}
	if err == nil {
		err = s.prepare(ctx, false)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// prepare prepares the statements of the saver or of the store. Those that the dialect lacks are
// empty.
func (s *Saver) prepare(ctx context.Context, ofStore bool) error {
	var texts, readTexts []string
	for st := range prepared {
		if !s.has(st) || st.ofStore() != ofStore {
			continue
		}
		texts = append(texts, s.queries[st].text)
		if st < reads {
			readTexts = texts
		}
	}
	err := s.try(ctx, RolledBack, func() error { return s.db.Prepare(ctx, readTexts, texts) })
	if err != nil {
		return fmt.Errorf("%s: prepare: %w", s.d.Name, err)
	}
	return nil
}

// begin starts a call, unless ctx has ended or the saver is closed. Every call that it starts must
// call end.
func (s *Saver) begin(ctx context.Context) error {
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

func (s *Saver) end() { s.calls.RUnlock() }

// Close ends the leases that the saver took and closes the database. Before, it waits until the
// records are packed of runs that have just ended. A second Close does nothing.
func (s *Saver) Close() error {
	s.packer.Close(s.patience)
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	var errs []error
	for fence, r := range s.runs {
		errs = append(errs, s.try(ctx, RolledBack, func() error {
			_, err := s.exec(ctx, s.db, stEndLease, []byte(r.thread), fence[:])
			return err
		}))
	}
	s.runs = nil
	return errors.Join(append(errs, s.wrap(ctx, "close", s.db.Close()))...)
}

// try makes a call, and retries it for the saver's patience while nothing was stored. If worst is
// Lost, it also retries a call whose outcome is unknown: such a call must change nothing the
// second time.
func (s *Saver) try(ctx context.Context, worst Fault, call func() error) error {
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
func (s *Saver) fault(err error) Fault {
	if errors.As(err, new(*againError)) {
		return RolledBack
	}
	return s.d.Classify(err)
}

// write runs f in a transaction and commits it. It retries as try does.
func (s *Saver) write(ctx context.Context, worst Fault, f func(tx Tx) error) error {
	return s.try(ctx, worst, func() error { return s.transact(ctx, f) })
}

// transact is write without retries. If the connection is lost before the commit was sent, the
// server rolls back, so nothing was stored. That happens to a client that was slow for longer than
// IdleLimit.
func (s *Saver) transact(ctx context.Context, f func(tx Tx) error) error {
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

// share runs f, which is short, as write does, but in a transaction that may store other calls
// too.
func (s *Saver) share(ctx context.Context, worst Fault, f func(tx Tx) error) error {
	return s.try(ctx, worst, func() error { return s.shared(ctx, f) })
}

// shared is share without retries.
func (s *Saver) shared(ctx context.Context, f func(tx Tx) error) error {
	db, can := s.db.(Sharer)
	if !can || s.readable { // a state is not short
		return s.transact(ctx, f)
	}
	return db.Share(ctx, f)
}

// read runs f in a transaction that sees the database as it is at one moment. It retries.
func (s *Saver) read(ctx context.Context, f func(tx Tx) error) error {
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
func (s *Saver) wrap(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*checkpoint.InvalidError)), errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrNotFound):
		return err
	}
	return fmt.Errorf("%s: %s: %w", s.d.Name, what, s.explain(ctx, err))
}

// explain adds to an error of the database what it means for the caller.
func (s *Saver) explain(ctx context.Context, err error) error {
	if over := ended(ctx, err); over != nil && !errors.Is(err, over) { // drivers have errors of their own for it
		return fmt.Errorf("%w: %w", over, err)
	}
	if fault := s.fault(err); fault == RolledBack || fault == Lost {
		return fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
	}
	return err
}

// wrapWrite is wrap for a call that stores values of at most size bytes.
func (s *Saver) wrapWrite(ctx context.Context, what string, err error, size int) error {
	return s.wrap(ctx, what, s.sized(ctx, err, size))
}

// sized returns a *SizeError if a call failed because of values of at most size bytes, else err.
func (s *Saver) sized(ctx context.Context, err error, size int) error {
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

// plainName is the length of the longest namespace that is its own key.
const plainName = 200

// key returns the key of a namespace. That of a long one is its beginning and a hash of all of it,
// and so longer than any plain key.
func key(namespace string) []byte {
	if len(namespace) <= plainName {
		return []byte(namespace)
	}
	sum := sha256.Sum256([]byte(namespace))
	return append([]byte(namespace[:plainName]), sum[:]...)
}

// rest returns a namespace that is not its own key, and nil for another. It is stored with the
// key.
func rest(namespace string) []byte {
	if len(namespace) <= plainName {
		return nil
	}
	return []byte(namespace)
}

func micro(d time.Duration) int64 {
	if d == 0 {
		d = checkpoint.DefaultLease
	}
	return max(d.Microseconds(), 1)
}
