package sqlsaver

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// What graph_checkpoint.flags says; its low three bits are the source. The statements know some of these numbers.
const (
	isSnapshot     = 8
	parentIsBefore = 16  // the parent is the record with the seq before, which stands, or there is none
	commitsBefore  = 32  // the record commits that record
	isCommitted    = 128 // another record than the next one commits this one
	sourceBits     = 7
)

// flagsOf returns the flags of r, whose record before has the id before: zero for none.
func flagsOf(r *checkpoint.Record, before checkpoint.ID) int64 {
	flags := int64(r.Source)
	if r.Snapshot {
		flags |= isSnapshot
	}
	if r.Parent == before {
		flags |= parentIsBefore
	}
	if r.Commits == before && !before.IsZero() {
		flags |= commitsBefore
	}
	return flags
}

// optional returns an id as a value to bind, nil when it need not be stored.
func optional(id checkpoint.ID, store bool) []byte {
	if !store || id.IsZero() {
		return nil
	}
	return id[:]
}

// insert stores a record with the number of its line; before is the id of the record with the seq before, zero when
// that is not there. What another record says of it is left out.
func (s *Saver) insert(ctx context.Context, tx Tx, at spot, r *checkpoint.Record, lineNo int64, before checkpoint.ID) error {
	flags := flagsOf(r, before)
	return tx.Later(ctx, s.text[stInsertRecord], at.thread, at.version, at.ns, int64(r.Seq), r.ID[:], lineNo, flags,
		int64(r.Step), ledger.Micro(r.Created).UnixMicro(),
		optional(r.Parent, flags&parentIsBefore == 0), optional(r.Base, r.Base != r.ID),
		optional(r.Commits, flags&commitsBefore == 0), bodyOf(r))
}

// bodyOf returns what of a record no column has.
func bodyOf(r *checkpoint.Record) []byte {
	if r.Base != r.ID && r.Due != nil {
		copied := *r
		copied.Due = nil
		r = &copied
	}
	return codec.AppendBody(make([]byte, 0, 64+len(r.Payload)), r)
}

// scanRecord reads a row that recordColumns selects, and its flags.
func scanRecord(rows Rows) (r checkpoint.Record, flags int64, err error) {
	var id, parent, base, commits, body, before, line, graph []byte
	var seq, step, created, fingerprint int64
	err = rows.Scan(&seq, &id, &flags, &step, &created, &parent, &base, &commits, &body, &before, &line, &fingerprint, &graph)
	if err != nil {
		return r, flags, err
	}
	r = checkpoint.Record{
		Seq: uint64(seq), Step: int(step), Source: checkpoint.Source(flags & sourceBits), Snapshot: flags&isSnapshot != 0,
		Fingerprint: uint64(fingerprint), Graph: string(graph), Created: time.UnixMicro(created).UTC(),
	}
	ok := setID(&r.ID, id) && setID(&r.Parent, parent) && setID(&r.Base, base) && setID(&r.Commits, commits) && setID(&r.Line, line)
	if flags&parentIsBefore != 0 {
		ok = ok && setID(&r.Parent, before)
	}
	if flags&commitsBefore != 0 {
		ok = ok && setID(&r.Commits, before)
	}
	if base == nil {
		r.Base = r.ID
	}
	if !ok {
		return r, flags, damagedID(seq)
	}
	b := codec.NewReader(body)
	b.Body(&r)
	if err := b.End(); err != nil {
		return r, flags, fmt.Errorf("record %d: %w: %w", seq, checkpoint.ErrDamaged, err)
	}
	return r, flags, nil
}

// setID sets id to what a column holds; nil is the zero id.
func setID(id *checkpoint.ID, b []byte) bool {
	*id = checkpoint.ID{}
	return b == nil || copy(id[:], b) == len(id) && len(b) == len(id)
}

func damagedID(seq int64) error {
	return fmt.Errorf("record %d: an id is not 16 bytes long: %w", seq, checkpoint.ErrDamaged)
}

// records runs a statement that selects records.
func (s *Saver) records(ctx context.Context, db Runner, st statement, args ...any) ([]checkpoint.Record, error) {
	records, _, err := s.flagged(ctx, db, st, args...)
	return records, err
}

// flagged runs a statement that selects records, and returns the flags of the last one, too.
func (s *Saver) flagged(ctx context.Context, db Runner, st statement, args ...any) (all []checkpoint.Record, last int64, err error) {
	rows, err := db.Query(ctx, s.text[st], args...)
	if err != nil {
		return nil, 0, err
	}
	err = each(rows, func(rows Rows) error {
		r, flags, err := scanRecord(rows)
		all, last = append(all, r), flags
		return err
	})
	return all, last, err
}

// thread is a row of graph_thread.
type thread struct {
	no         int64
	id         string
	last, open int // the newest version there ever was, and the open one: 0 for none
	versions   int
	status     checkpoint.Status
	fence      checkpoint.ID
	holder     string
	until      int64 // when the lease ends, 0 when it was given up
	updated    int64
	asked      bool // there may be questions
	now        int64
}

// thread reads a thread's row by stThread or stLockThread; nil when there is none.
func (s *Saver) thread(ctx context.Context, db Runner, st statement, id string) (*thread, error) {
	t := &thread{id: id}
	var full, fence, holder []byte
	var last, open, versions, status, asked int64
	found, err := one(ctx, db, s.text[st], []any{key(id)},
		&t.no, &full, &last, &open, &versions, &status, &fence, &holder, &t.until, &t.updated, &asked, &t.now)
	if err != nil || !found {
		return nil, err
	}
	if full != nil && string(full) != id {
		return nil, fmt.Errorf("two long thread ids have one key: %.64q and %.64q: %w", full, id, checkpoint.ErrDamaged)
	}
	if !setID(&t.fence, fence) {
		return nil, fmt.Errorf("thread %.64q: the fence is not 16 bytes long: %w", id, checkpoint.ErrDamaged)
	}
	t.last, t.open, t.versions, t.status = int(last), int(open), int(versions), checkpoint.Status(status)
	t.holder, t.asked = string(holder), asked != 0
	return t, nil
}

// leased reports whether a run's lease lives.
func (t *thread) leased() bool { return t.open != 0 && t.until > t.now }

// busy returns a *BusyError when a run's lease lives.
func (t *thread) busy() error {
	if !t.leased() {
		return nil
	}
	return &checkpoint.BusyError{Thread: t.id, Holder: t.holder, Until: time.UnixMicro(t.until).UTC()}
}

// conflict is the error of a write that something stands against.
func (t *thread) conflict(reason, namespace string, want, found checkpoint.ID) error {
	return &checkpoint.ConflictError{Thread: t.id, Namespace: namespace, Want: want, Found: found, Reason: reason}
}

// store writes the row back.
func (s *Saver) store(ctx context.Context, tx Tx, t *thread) error {
	asked := int64(0)
	if t.asked {
		asked = 1
	}
	return tx.Later(ctx, s.text[stUpdateThread], int64(t.last), int64(t.open), int64(t.versions), int64(t.status),
		bytes.Clone(t.fence[:]), []byte(t.holder), t.until, t.updated, asked, t.no)
}

// never is the time of a thread that has no open version.
const never = math.MaxInt64

// close makes the open version a released one.
func (s *Saver) close(ctx context.Context, tx Tx, t *thread) error {
	err := tx.Later(ctx, s.text[stReleaseVersion], int64(t.status), t.updated, t.now, t.no, int64(t.open))
	t.open, t.status, t.fence, t.holder, t.until, t.asked = 0, 0, checkpoint.ID{}, "", 0, false
	t.updated = never // it is not among those that are idle
	return err
}

// spot is a log in the tables.
type spot struct {
	thread  int64
	version int64
	ns      int64
}

// unknown is the number of a namespace that has no row.
const unknown = -1

// spot returns where a namespace's log is; its ns is unknown when it has none.
func (s *Saver) spot(ctx context.Context, db Runner, t *thread, version int, namespace string) (spot, error) {
	at := spot{thread: t.no, version: int64(version), ns: 0}
	if namespace == "" {
		return at, nil
	}
	found, err := one(ctx, db, s.text[stNamespace], []any{at.thread, at.version, key(namespace)}, &at.ns)
	if !found {
		at.ns = unknown
	}
	return at, err
}

// head is the newest record of a log; the zero head is that of an empty one.
type head struct {
	id   checkpoint.ID
	seq  int64
	step int64
	line line
}

// line is a row of graph_line: what the records of a run share.
type line struct {
	no          int64 // from 1
	id          checkpoint.ID
	fingerprint uint64
	graph       string
}

// head returns the newest record of a log.
func (s *Saver) head(ctx context.Context, db Runner, at spot) (h head, err error) {
	if at.ns == unknown {
		return h, nil
	}
	var id, lineID, graph []byte
	var fingerprint int64
	found, err := one(ctx, db, s.text[stHead], []any{at.thread, at.version, at.ns}, &h.seq, &id, &h.step, &h.line.no, &lineID, &fingerprint, &graph)
	if err != nil || !found {
		return head{}, err
	}
	h.line.fingerprint, h.line.graph = uint64(fingerprint), string(graph)
	if !setID(&h.id, id) || !setID(&h.line.id, lineID) {
		return h, damagedID(h.seq)
	}
	return h, nil
}

// find returns the seq of a record in a log.
func (s *Saver) find(ctx context.Context, db Runner, at spot, id checkpoint.ID) (seq int64, found bool, err error) {
	var ns int64
	found, err = one(ctx, db, s.text[stRecord], []any{at.thread, at.version, id[:]}, &ns, &seq)
	return seq, found && ns == at.ns, err
}
