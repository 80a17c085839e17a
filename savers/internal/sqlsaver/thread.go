package sqlsaver

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
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
	about      ledger.About
	wake       int64 // when the thread is due, 0 for never
	attempts   int

	posted         int64 // the number of the newest message
	inputs, others int64 // untaken messages
	cancels        int64 // of others
}

// threadRow has the values of a row of graph_thread that a thread has in another form.
type threadRow struct {
	fence, holder, packed                 []byte
	last, open, versions, status, created int64
	attempts, priority                    int64
	graph, title, labels                  []byte
}

// set sets the values of t, which has its id already.
func (r *threadRow) set(t *thread) error {
	if !setID(&t.fence, r.fence) || !setID(&t.packed, r.packed) {
		return fmt.Errorf("thread %.64q: the fence or packed_id is not 16 bytes long: %w", t.id, checkpoint.ErrDamaged)
	}
	t.last, t.open, t.versions, t.status = int(r.last), int(r.open), int(r.versions), checkpoint.Status(r.status)
	t.holder, t.attempts = string(r.holder), int(r.attempts)
	labels, err := labelsOf(r.labels)
	if err != nil {
		return fmt.Errorf("thread %.64q: %w", t.id, err)
	}
	t.about = ledger.About{Graph: string(r.graph), Created: createdAt(r.created), Title: string(r.title), Labels: labels, Priority: checkpoint.Priority(r.priority)}
	return nil
}

// createdAt decodes the column created, 0 before the first version begins.
func createdAt(column int64) time.Time {
	if column == 0 {
		return time.Time{}
	}
	return codec.Time(column)
}

// createdColumn returns a time as the column created has it.
func createdColumn(created time.Time) int64 {
	if created.IsZero() {
		return 0
	}
	return created.UnixMicro()
}

// labelsOf decodes the column labels.
func labelsOf(column []byte) (map[string]string, error) {
	if len(column) == 0 {
		return nil, nil
	}
	in := codec.NewReader(column)
	labels := in.Labels()
	if err := in.End(); err != nil {
		return nil, fmt.Errorf("labels: %w: %w", err, checkpoint.ErrDamaged)
	}
	return labels, nil
}

// labelsColumn returns the value of the column labels.
func labelsColumn(labels map[string]string) []byte {
	if len(labels) == 0 {
		return []byte{}
	}
	return codec.AppendLabels(nil, labels)
}

// become gives the thread another description, and changes the list of labels. The caller stores
// the row.
func (s *Saver) become(ctx context.Context, tx Tx, t *thread, about ledger.About) error {
	before := t.about
	t.about = about
	for _, change := range [...]struct {
		st   statement
		of   *ledger.About
		than map[string]string
	}{{stRemoveLabel, &before, about.Labels}, {stInsertLabel, &about, before.Labels}} {
		for _, name := range slices.Sorted(maps.Keys(change.of.Labels)) {
			value := change.of.Labels[name]
			if other, found := change.than[name]; found && other == value {
				continue
			}
			if err := s.later(ctx, tx, change.st, []byte(name), []byte(value), []byte(t.id), createdColumn(change.of.Created)); err != nil {
				return err
			}
		}
	}
	return nil
}

// thread reads a thread's row by stThread or stLockThread. It returns nil if there is none.
func (s *Saver) thread(ctx context.Context, db Runner, st statement, id string) (*thread, error) {
	t, r := &thread{id: id}, threadRow{}
	found, err := s.one(ctx, db, st, []any{[]byte(id)}, &t.no, &r.last, &r.open, &t.root, &r.versions, &r.status,
		&r.fence, &r.holder, &t.until, &t.updated, &t.asked, &r.packed, &r.created, &r.graph, &r.title, &r.labels,
		&t.wake, &r.attempts, &t.posted, &t.inputs, &t.others, &t.cancels, &r.priority, &t.now)
	if err != nil || !found {
		return nil, err
	}
	if err := r.set(t); err != nil {
		return nil, err
	}
	return t, nil
}

// birth returns the Birth of a thread. The database never gives a number to a second thread.
func birth(no int64) (id checkpoint.ID) {
	binary.BigEndian.PutUint64(id[len(id)-8:], uint64(no))
	return id
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

// acceptPrune returns an error if keep must not prune the thread, as ledger.Version.AcceptPrune.
func (t *thread) acceptPrune(keep *checkpoint.Retention) error {
	switch {
	case keep.Fence.IsZero():
		return t.busy()
	case t.open == 0:
		return t.conflict("fence", "", keep.Fence, checkpoint.ID{})
	case keep.Fence != t.fence:
		return t.conflict("fence", "", keep.Fence, t.fence)
	}
	return nil
}

// conflict returns the error of a write that the thread's fence, head or version does not allow.
func (t *thread) conflict(reason, namespace string, want, found checkpoint.ID) error {
	return &checkpoint.ConflictError{Thread: t.id, Namespace: namespace, Want: want, Found: found, Reason: reason}
}

// store writes the row back.
func (s *Saver) store(ctx context.Context, tx Tx, t *thread) error {
	return s.later(ctx, tx, stUpdateThread, int64(t.last), int64(t.open), t.root, int64(t.versions), int64(t.status),
		bytes.Clone(t.fence[:]), []byte(t.holder), t.until, t.updated, t.asked,
		createdColumn(t.about.Created), []byte(t.about.Graph), []byte(t.about.Title), labelsColumn(t.about.Labels),
		t.wake, int64(t.attempts), t.posted, t.inputs, t.others, t.cancels, int64(t.about.Rank()), t.no)
}

// never is the time of the last run of a thread that has no open version and no inputs: it is not
// listed as idle.
const never = math.MaxInt64

// close makes the open version a released one. The caller stores the row.
func (s *Saver) close(ctx context.Context, tx Tx, t *thread) error {
	err := s.later(ctx, tx, stReleaseVersion, int64(t.status), t.updated, t.now, t.no, int64(t.open))
	t.open, t.root, t.status, t.fence, t.holder, t.until, t.asked = 0, 0, 0, checkpoint.ID{}, "", 0, false
	t.wake, t.attempts = 0, 0
	if err != nil {
		return err
	}
	return s.releaseMail(ctx, tx, t)
}
