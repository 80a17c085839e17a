package sqlsaver

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// thread is a row of graph_thread.
type thread struct {
	no         int64
	id         string
	last, open int   // the newest version that ever was, and the open one: 0 for none
	root       int64 // the log of the open version's root
	versions   int
	status     checkpoint.Status
	fence      checkpoint.ID
	holder     string
	until      int64 // when the lease ends, 0 if it was given up
	updated    int64
	asked      bool // there may be questions
	now        int64
	packed     checkpoint.ID // no packed record has a larger id; zero if none is packed
}

// threadRow has the values of a row of graph_thread that a thread has in another form.
type threadRow struct {
	full, fence, holder, packed  []byte
	last, open, versions, status int64
}

// set sets the values of t, which has its id already.
func (r *threadRow) set(t *thread) error {
	if r.full != nil && string(r.full) != t.id {
		return fmt.Errorf("two long thread ids have one key: %.64q and %.64q: %w", r.full, t.id, checkpoint.ErrDamaged)
	}
	if !setID(&t.fence, r.fence) || !setID(&t.packed, r.packed) {
		return fmt.Errorf("thread %.64q: the fence or packed_id is not 16 bytes long: %w", t.id, checkpoint.ErrDamaged)
	}
	t.last, t.open, t.versions, t.status = int(r.last), int(r.open), int(r.versions), checkpoint.Status(r.status)
	t.holder = string(r.holder)
	return nil
}

// thread reads a thread's row by stThread or stLockThread. It returns nil if there is none.
func (s *Saver) thread(ctx context.Context, db Runner, st statement, id string) (*thread, error) {
	t, r := &thread{id: id}, threadRow{}
	found, err := s.one(ctx, db, st, []any{key(id)}, &t.no, &r.full, &r.last, &r.open, &t.root, &r.versions, &r.status,
		&r.fence, &r.holder, &t.until, &t.updated, &t.asked, &r.packed, &t.now)
	if err != nil || !found {
		return nil, err
	}
	if err := r.set(t); err != nil {
		return nil, err
	}
	return t, nil
}

// leased reports whether a run's lease lives.
func (t *thread) leased() bool { return t.open != 0 && t.until > t.now }

// busy returns a *BusyError if a run's lease lives.
func (t *thread) busy() error {
	if !t.leased() {
		return nil
	}
	return &checkpoint.BusyError{Thread: t.id, Holder: t.holder, Until: time.UnixMicro(t.until).UTC()}
}

// conflict returns the error of a write that the thread's fence, head or version does not allow.
func (t *thread) conflict(reason, namespace string, want, found checkpoint.ID) error {
	return &checkpoint.ConflictError{Thread: t.id, Namespace: namespace, Want: want, Found: found, Reason: reason}
}

// store writes the row back.
func (s *Saver) store(ctx context.Context, tx Tx, t *thread) error {
	return s.later(ctx, tx, stUpdateThread, int64(t.last), int64(t.open), t.root, int64(t.versions), int64(t.status),
		bytes.Clone(t.fence[:]), []byte(t.holder), t.until, t.updated, t.asked, t.no)
}

// never is the time of the last run of a thread that has no open version: it is not listed as
// idle.
const never = math.MaxInt64

// close makes the open version a released one. The caller stores the row.
func (s *Saver) close(ctx context.Context, tx Tx, t *thread) error {
	err := s.later(ctx, tx, stReleaseVersion, int64(t.status), t.updated, t.now, t.no, int64(t.open))
	t.open, t.root, t.status, t.fence, t.holder, t.until, t.asked = 0, 0, 0, checkpoint.ID{}, "", 0, false
	t.updated = never
	return err
}
