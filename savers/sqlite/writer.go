package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"

	"modernc.org/sqlite"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// writer is a DB whose writes of one process take turns. Statements and short transactions that
// wait for their turn are stored by one transaction, which costs one sync: a group commit. Each
// has its own outcome; one that fails does not fail the others.
type writer struct {
	*sqlsaver.Std
	conn *sql.Conn         // the connection that writes, nil until a call writes; the turn protects it
	on   sqlsaver.Prepared // runs statements on conn, for the caller that has the turn
	turn chan struct{}     // holds one value while somebody writes

	mu      sync.Mutex
	waiting []*job
	led     bool // a job's goroutine stores jobs, and then has another job's goroutine do so
}

var _ sqlsaver.Sharer = (*writer)(nil)

// job is a call that writes: either a statement or a transaction.
type job struct {
	text string
	args []any
	rows int64

	f func(context.Context, sqlsaver.Tx) error

	err  error
	told chan bool // true: store what waits; false: this job is stored, or has failed
}

// mostJobs is how many jobs one transaction stores at most, so that none waits long for the
// others.
const mostJobs = 256

// The statements that begin and end a transaction, and those that undo one job of several. They
// take half the time of the transactions of database/sql.
const (
	begin      = "BEGIN IMMEDIATE"
	commit     = "COMMIT"
	rollback   = "ROLLBACK"
	savepoint  = "SAVEPOINT job"
	release    = "RELEASE job"
	rollbackTo = "ROLLBACK TO job"
)

// newWriter returns a writer on std, whose pool for writing has one connection. Nobody has the
// turn.
func newWriter(std *sqlsaver.Std) *writer {
	w := &writer{Std: std, turn: make(chan struct{}, 1)}
	w.on = w.statement
	return w
}

// statement returns the prepared statement of a text. It connects first if need be, so that a call
// which finds the file locked fails as a whole, and is made again.
func (w *writer) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if w.conn == nil {
		conn, err := w.Write.Conn(ctx)
		if err != nil {
			return nil, err
		}
		w.conn = conn
	}
	return w.Statement(ctx, w.conn, text)
}

// Prepare prepares texts, and the statements of transactions.
func (w *writer) Prepare(ctx context.Context, reads, writes []string) error {
	if err := w.Std.Prepare(ctx, reads, nil); err != nil {
		return err
	}
	if err := w.take(ctx); err != nil {
		return err
	}
	defer func() { <-w.turn }()
	for _, text := range append([]string{begin, commit, rollback, savepoint, release, rollbackTo}, writes...) {
		if _, err := w.on(ctx, text); err != nil { //nolint:sqlclosecheck // the statement is kept until Close
			return err
		}
	}
	return nil
}

// Close closes the connections.
func (w *writer) Close() error {
	var err error
	if w.conn != nil {
		err = w.conn.Close()
	}
	return errors.Join(err, w.Std.Close())
}

// Exec runs a statement and commits it.
func (w *writer) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	j := &job{text: text, args: args}
	err := w.do(ctx, j)
	return j.rows, err
}

// Share runs f in a transaction, maybe one that also stores other calls, and commits it. It may
// call f more than once; only what the last call did is stored. The context of f never ends: that
// would undo what other calls have done in the transaction. Transactions are short.
func (w *writer) Share(ctx context.Context, f func(context.Context, sqlsaver.Tx) error) error {
	return w.do(ctx, &job{f: f})
}

// Begin starts a transaction. One that writes is not shared.
func (w *writer) Begin(ctx context.Context, writes bool) (sqlsaver.Tx, error) {
	if !writes {
		return w.Std.Begin(ctx, false)
	}
	if err := w.take(ctx); err != nil {
		return nil, err
	}
	tx, err := w.begin()
	if err != nil {
		<-w.turn
		return nil, err
	}
	tx.turn = true
	return tx, nil
}

// take waits for the turn to write, which ends when its value is received from w.turn.
func (w *writer) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin begins a transaction. The caller has the turn.
func (w *writer) begin() (*writeTx, error) {
	if _, err := w.on.Exec(context.Background(), begin); err != nil {
		return nil, err
	}
	return &writeTx{Prepared: w.on, w: w}, nil
}

// writeTx is a transaction of the connection that writes.
type writeTx struct {
	sqlsaver.Prepared
	w    *writer
	turn bool // its end ends the turn
	over bool
}

// Commit commits, even if ctx has ended: the driver runs no statement by such a context.
func (t *writeTx) Commit(ctx context.Context) error {
	_, err := t.Exec(context.WithoutCancel(ctx), commit)
	if err == nil {
		t.end()
	}
	return err
}

// Rollback undoes the transaction unless it is over, even if ctx has ended.
func (t *writeTx) Rollback(ctx context.Context) {
	if t.over {
		return
	}
	if _, err := t.Exec(context.WithoutCancel(ctx), rollback); err != nil && !isNone(err) {
		t.w.disconnect()
	}
	t.end()
}

// isNone reports whether a ROLLBACK found no transaction: a commit that fails may roll it back.
func isNone(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == codeError
}

// disconnect closes the connection that writes, with its transaction. The next call connects.
func (w *writer) disconnect() {
	w.Forget(w.conn)                                             // with a statement, it would stay open
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes the connection
	w.conn = nil
}

// end marks the transaction as over, and gives up its turn.
func (t *writeTx) end() {
	if t.over = true; t.turn {
		<-t.w.turn
	}
}

// do stores a job, and returns its error. If ctx ends before the job has begun, the job is not
// stored.
func (w *writer) do(ctx context.Context, j *job) error {
	w.mu.Lock()
	w.waiting = append(w.waiting, j)
	if w.led {
		j.told = make(chan bool, 1)
		w.mu.Unlock()
		select {
		case lead := <-j.told:
			if !lead {
				return j.err
			}
		case <-ctx.Done():
			if w.leave(j) {
				return ctx.Err()
			}
			if lead := <-j.told; !lead {
				return j.err
			}
		}
	} else {
		w.led = true
		w.mu.Unlock()
	}
	w.lead(ctx, j)
	return j.err
}

// leave removes a job that has not begun, and reports whether it could.
func (w *writer) leave(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, j)
	if i < 0 || len(j.told) > 0 {
		return false
	}
	w.waiting = slices.Delete(w.waiting, i, i+1)
	return true
}

// errPanicked is the error of jobs that share a transaction with one that panicked.
var errPanicked = errors.New("another call in the same transaction panicked; call again")

// lead stores the waiting jobs. The first of them is own. Then the next job leads.
func (w *writer) lead(ctx context.Context, own *job) {
	var jobs []*job
	err := w.take(ctx)
	w.mu.Lock()
	n := min(len(w.waiting), mostJobs)
	if err != nil {
		n, own.err = 1, err
	}
	jobs = append(jobs, w.waiting[:n]...)
	w.waiting = slices.Delete(w.waiting, 0, n)
	w.mu.Unlock()
	defer w.finish(jobs[1:])
	if err != nil {
		return
	}
	for _, j := range jobs[1:] {
		j.err = errPanicked
	}
	defer func() { <-w.turn }()
	w.store(jobs)
}

// finish tells jobs that they are over, and the first that waits to lead.
func (w *writer) finish(jobs []*job) {
	for _, j := range jobs {
		j.told <- false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.led = len(w.waiting) > 0; w.led {
		w.waiting[0].told <- true
	}
}

// store stores jobs by one transaction. If that fails as a whole it has stored none of them, and
// each is stored alone.
func (w *writer) store(jobs []*job) {
	if len(jobs) > 1 {
		tx, err := w.begin()
		if err != nil {
			for _, j := range jobs {
				j.err = err
			}
			return
		}
		if together(tx, jobs) {
			return
		}
	}
	for _, j := range jobs {
		j.err = w.alone(j)
	}
}

// alone stores a job by a transaction of its own.
func (w *writer) alone(j *job) (err error) {
	ctx := context.Background()
	if j.f == nil {
		j.rows, err = w.on.Exec(ctx, j.text, j.args...)
		return err
	}
	tx, err := w.begin()
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if err := j.f(ctx, tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// together stores jobs in a transaction and commits it. It reports whether the errors of the jobs
// are their outcome; if not, the transaction has stored nothing.
func together(tx sqlsaver.Tx, jobs []*job) bool {
	ctx := context.Background()
	defer tx.Rollback(ctx)
	for _, j := range jobs {
		if !j.within(ctx, tx) {
			return false
		}
	}
	return tx.Commit(ctx) == nil
}

// within runs a job in a transaction of several. It reports whether the transaction can continue,
// because the job is done, or has failed without a change.
func (j *job) within(ctx context.Context, tx sqlsaver.Tx) bool {
	if j.f == nil {
		j.rows, j.err = tx.Exec(ctx, j.text, j.args...)
		return j.err == nil || classify(j.err) == sqlsaver.Duplicate // undoes its statement alone
	}
	if _, err := tx.Exec(ctx, savepoint); err != nil {
		return false
	}
	if j.err = j.f(ctx, tx); j.err != nil {
		if _, err := tx.Exec(ctx, rollbackTo); err != nil {
			return false
		}
	}
	_, err := tx.Exec(ctx, release)
	return err == nil
}
