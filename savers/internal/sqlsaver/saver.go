// Package sqlsaver is the commit protocol on tables: one implementation for all SQL databases, which differ by a
// [Dialect] and by how a [DB] reaches them. The statements are written once, with nothing but bound values in them.
//
// # Tables
//
// graph_thread has a row for each thread: its open version, with fence, lease and status. graph_version has one for
// each version. graph_log has one for each namespace of a version, the root's first, whose number stands for
// the version elsewhere. graph_checkpoint has the records, clustered by log and seq, so that a chain is one range. What
// the records of a run share (line, fingerprint, graph) is one row of graph_line. graph_write has the pending writes.
//
// # Locks
//
// Every write locks its thread's row: a commit so that it stays as it is, all else to change it. What is read under
// that lock is true until the transaction ends. A plain commit is one statement that stores its row when all it relies
// on is so, and nothing otherwise; then a transaction finds out why, and does what is to be done. A saver remembers where
// its runs' heads are, so that the statement finds the one it looks at by its key.
//
// # What is left out
//
// A pending write whose base is committed is never returned. Its row goes when a run next opens, or renews its lease by a commit.
package sqlsaver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Saver is a checkpoint.Saver on a DB. It is made by New.
type Saver struct {
	db       DB
	d        *Dialect
	text     [statements]string
	many     map[statement]map[int]string // statements for so many rows
	patience time.Duration
	readable bool

	calls  sync.RWMutex // held for reading by every call; Close takes it whole
	closed bool

	mu   sync.Mutex
	runs map[checkpoint.ID]*run // by fence: those that this saver opened and that have not ended

	states map[spot]state // of a readable saver, by root
}

var _ checkpoint.Saver = (*Saver)(nil)

// run is a run that holds a lease, with the heads that its own writes have made, by namespace.
type run struct {
	thread string
	heads  map[string]held
}

// maxHeads is how many heads of a run are kept. After one that is not, a commit takes a transaction.
const maxHeads = 256

// held is a head that a run made, and where it is. The next commit's statement looks whether it still stands.
type held struct {
	thread  int64
	version int
	log     int64
	head
}

// Options are what a back end chooses.
type Options struct {
	// Patience is how long a call that meets locks or deadlocks tries again; zero is DefaultPatience.
	Patience time.Duration
	// Readable keeps the state of each version as JSON in graph_state, in step with the root's head.
	Readable bool
}

// IdleLimit is how long the server keeps a transaction, with its locks, whose client sends nothing: that of a process
// that is stopped or cut off. It is well below the default lease. A client that was only slow makes its call again.
const IdleLimit = 2 * time.Second

// DefaultPatience is how long a call tries again when nothing was said.
const DefaultPatience = 10 * time.Second

// New returns a saver on a database that has the tables. It owns db from then on, also when it fails.
func New(ctx context.Context, db DB, d *Dialect, o Options) (*Saver, error) {
	s := &Saver{db: db, d: d, text: d.texts(), many: d.many(), patience: o.Patience, readable: o.Readable, runs: make(map[checkpoint.ID]*run), states: make(map[spot]state)}
	if s.patience == 0 {
		s.patience = DefaultPatience
	}
	writes := slices.Clone(s.text[:])
	for _, many := range s.many {
		writes = slices.AppendSeq(writes, maps.Values(many))
	}
	err := s.try(ctx, RolledBack, func() error { return db.Prepare(ctx, s.text[:reads], writes) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: prepare: %w", d.Name, err), db.Close())
	}
	return s, nil
}

// begin lets a call in. Every call that it lets in must end.
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

// Close ends the leases that the saver took and closes the database. A second Close does nothing.
func (s *Saver) Close() error {
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
			_, err := s.db.Exec(ctx, s.text[stEndLease], key(r.thread), fence[:])
			return err
		}))
	}
	s.runs = nil
	return errors.Join(append(errs, s.wrap(ctx, "close", s.db.Close()))...)
}

// try makes a call, and makes it again while it fails by a fault that is not worse than worst: what was rolled back
// may always be tried again, what was lost only when the call changes nothing the second time.
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
		pause := wait/2 + rand.N(wait) // so that those who met do not meet again
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

// againError is an error after which a call that begins anew finds another state: nothing was stored.
type againError struct{ error }

func (e *againError) Unwrap() error { return e.error }

// fault says what an error means for the call.
func (s *Saver) fault(err error) Fault {
	if errors.As(err, new(*againError)) {
		return RolledBack
	}
	return s.d.Classify(err)
}

// write runs f in a transaction that it commits, and again when that is safe, as try says.
func (s *Saver) write(ctx context.Context, worst Fault, f func(tx Tx) error) error {
	return s.try(ctx, worst, func() error {
		tx, err := s.db.Begin(ctx, true)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
}

// read runs f in a transaction that sees the database as it is at one moment.
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

// wrap makes an error say where it comes from. Errors of the protocol are left as they are.
func (s *Saver) wrap(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*checkpoint.InvalidError)), errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrNotFound):
		return err
	}
	if over := ended(ctx, err); over != nil && !errors.Is(err, over) { // drivers have words of their own for it
		return fmt.Errorf("%s: %s: %w: %w", s.d.Name, what, over, err)
	}
	if fault := s.fault(err); fault == RolledBack || fault == Lost {
		return fmt.Errorf("%s: %s: %w: %w", s.d.Name, what, checkpoint.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %s: %w", s.d.Name, what, err)
}

// ended returns why ctx has ended, or nil. A connection that has the deadline of ctx may notice that it has passed before
// the timer of ctx does.
func ended(ctx context.Context, err error) error {
	deadline, has := ctx.Deadline()
	if ctx.Err() == nil && has && errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// Names up to plainName bytes are keys as they are. Of longer ones the key is so much of the name and a hash of all:
// longer than any plain key, so that no two names share one, and near its place in the order.
const (
	plainName  = 200
	longestKey = plainName + sha256.Size
)

// key returns the key of a name.
func key(name string) []byte {
	if len(name) <= plainName {
		return []byte(name)
	}
	sum := sha256.Sum256([]byte(name))
	return append([]byte(name[:plainName]), sum[:]...)
}

// rest returns what is to be stored beside a name's key: nil, or all of a name that is not its key.
func rest(name string) []byte {
	if len(name) <= plainName {
		return nil
	}
	return []byte(name)
}

// nameOf returns the name of a key and what was stored beside it.
func nameOf(key, rest []byte) string {
	if rest != nil {
		return string(rest)
	}
	return string(key)
}

func micro(d time.Duration) int64 {
	if d == 0 {
		d = checkpoint.DefaultLease
	}
	return max(d.Microseconds(), 1)
}
