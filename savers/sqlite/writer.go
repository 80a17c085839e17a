package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// writer is a DB whose writes of one process take turns. Statements and short transactions that
// wait for their turn are stored by one transaction, which costs one sync: a group commit. Each
// has its own outcome; one that fails does not fail the others.
type writer struct {
	*sqlsaver.Std
	turn chan struct{} // holds one value while somebody writes

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

	f func(sqlsaver.Tx) error

	err  error
	told chan bool // true: store what waits; false: this job is stored, or has failed
}

// mostJobs is how many jobs one transaction stores at most, so that none waits long for the
// others.
const mostJobs = 256

// The statements that undo one job of several.
const (
	savepoint  = "SAVEPOINT job"
	release    = "RELEASE job"
	rollbackTo = "ROLLBACK TO job"
)

// newWriter returns a writer on std in which nobody has the turn.
func newWriter(std *sqlsaver.Std) *writer { return &writer{Std: std, turn: make(chan struct{}, 1)} }

// Prepare prepares texts, and the statements that undo a job.
func (w *writer) Prepare(ctx context.Context, reads, writes []string) error {
	return w.Std.Prepare(ctx, reads, append([]string{savepoint, release, rollbackTo}, writes...))
}

// Exec runs a statement and commits it.
func (w *writer) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	j := &job{text: text, args: args}
	err := w.do(ctx, j)
	return j.rows, err
}

// Share runs f in a transaction, maybe one that also stores other calls, and commits it. It may
// call f more than once; only what the last call did is stored. Once f has begun, ctx does not end
// it.
func (w *writer) Share(ctx context.Context, f func(sqlsaver.Tx) error) error {
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
	tx, err := w.Std.Begin(ctx, true)
	if err != nil {
		<-w.turn
		return nil, err
	}
	return &ownTx{Tx: tx, w: w}, nil
}

// take waits for the turn to write, which ends when its value is received from w.turn.
func (w *writer) take(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ownTx is a transaction whose end ends its turn.
type ownTx struct {
	sqlsaver.Tx
	w    *writer
	over bool
}

func (t *ownTx) Commit(ctx context.Context) error {
	defer t.end()
	return t.Tx.Commit(ctx)
}

func (t *ownTx) Rollback(ctx context.Context) {
	defer t.end()
	t.Tx.Rollback(ctx)
}

// end gives up the turn. Its second call does nothing.
func (t *ownTx) end() {
	if !t.over {
		t.over = true
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
		tx, err := w.Std.Begin(context.Background(), true)
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
		j.rows, err = w.Std.Exec(ctx, j.text, j.args...)
		return err
	}
	tx, err := w.Std.Begin(ctx, true)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if err := j.f(sharedTx{tx}); err != nil {
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
	if j.err = j.f(sharedTx{tx}); j.err != nil {
		if _, err := tx.Exec(ctx, rollbackTo); err != nil {
			return false
		}
	}
	_, err := tx.Exec(ctx, release)
	return err == nil
}

// sharedTx is a transaction whose statements do not end with the context of a call: that would
// undo what other calls have done in it. They are short.
type sharedTx struct{ sqlsaver.Tx }

func (t sharedTx) Exec(_ context.Context, text string, args ...any) (int64, error) {
	return t.Tx.Exec(context.Background(), text, args...)
}

func (t sharedTx) Query(_ context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	return t.Tx.Query(context.Background(), text, args...)
}

func (t sharedTx) Pipeline(_ context.Context, calls []sqlsaver.Call, scan func(call int, rows sqlsaver.Rows) error) error {
	return t.Tx.Pipeline(context.Background(), calls, scan)
}

func (t sharedTx) Later(_ context.Context, scan func(sqlsaver.Rows) error, text string, args ...any) error {
	return t.Tx.Later(context.Background(), scan, text, args...)
}
