package sqlsaver

import (
	"bytes"
	"context"
	"errors"
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
	isFollowed     = 64  // the record with the seq after has gone
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
	if r.Seq > lastSeq {
		return fmt.Errorf("record %d: a log takes %d records: release the thread, and the next run begins a new one", r.Seq, lastSeq)
	}
	flags := flagsOf(r, before)
	return tx.Later(ctx, s.text[stInsertRecord], at.log, int64(r.Seq), at.root, r.ID[:], lineNo, flags,
		int64(r.Step), ledger.Micro(r.Created).UnixMicro(),
		optional(r.Parent, flags&parentIsBefore == 0), optional(r.Base, r.Base != r.ID),
		optional(r.Commits, flags&commitsBefore == 0), at.body(r))
}

// body returns what of a record of a log no column has, and the checksum of the whole record.
func (at *spot) body(r *checkpoint.Record) []byte {
	copied := *r
	copied.Created = ledger.Micro(r.Created)
	if r.Base != r.ID {
		copied.Due = nil
	}
	b := codec.AppendBody(make([]byte, 0, 64+len(r.Payload)), &copied)
	return codec.AppendRecordSum(b, 0, at.id, at.namespace, &copied)
}

// entry is a row of graph_checkpoint. Its record lacks what the row of its line and the row before say.
type entry struct {
	checkpoint.Record
	flags, line int64
	body        []byte
}

// scanRecord reads a row that recordColumns selects.
func scanRecord(rows Rows) (e entry, err error) {
	var id, parent, base, commits []byte
	var seq, step, created int64
	if err := rows.Scan(&seq, &id, &e.line, &e.flags, &step, &created, &parent, &base, &commits, &e.body); err != nil {
		return e, err
	}
	e.Record = checkpoint.Record{
		Seq: uint64(seq), Step: int(step), Source: checkpoint.Source(e.flags & sourceBits), Snapshot: e.flags&isSnapshot != 0,
		Created: time.UnixMicro(created).UTC(),
	}
	if !setID(&e.ID, id) || !setID(&e.Parent, parent) || !setID(&e.Base, base) || !setID(&e.Commits, commits) {
		return e, damagedID(seq)
	}
	if base == nil {
		e.Base = e.ID
	}
	return e, nil
}

// complete returns the record of an entry of a log; before is the entry before it, which need not be there.
func (e *entry) complete(at *spot, before *entry, l line) (checkpoint.Record, error) {
	r := e.Record
	var id checkpoint.ID
	if before != nil && before.Seq+1 == r.Seq {
		id = before.ID
	}
	if e.flags&parentIsBefore != 0 {
		r.Parent = id
	}
	if e.flags&commitsBefore != 0 {
		r.Commits = id
	}
	r.Line, r.Fingerprint, r.Graph = l.id, l.fingerprint, l.graph
	body, ok := codec.CutRecordSum(e.body, at.id, at.namespace, &r)
	if !ok {
		return r, at.damaged(r.Seq, errSum)
	}
	b := codec.NewReader(body)
	b.Body(&r)
	if err := b.End(); err != nil {
		return r, at.damaged(r.Seq, err)
	}
	return r, nil
}

// errSum says that stored bytes are not those that were stored.
var errSum = errors.New("its checksum is that of other data; restore it from a backup")

// damaged is the error of a record that is not what was stored.
func (at *spot) damaged(seq uint64, err error) error {
	where := ""
	if at.namespace != "" {
		where = fmt.Sprintf(", namespace %.64q", at.namespace)
	}
	return fmt.Errorf("thread %.64q%s, record %d: %w: %w", at.id, where, seq, checkpoint.ErrDamaged, err)
}

// setID sets id to what a column holds; nil is the zero id.
func setID(id *checkpoint.ID, b []byte) bool {
	*id = checkpoint.ID{}
	return b == nil || copy(id[:], b) == len(id) && len(b) == len(id)
}

func damagedID(seq int64) error {
	return fmt.Errorf("record %d: an id is not 16 bytes long: %w", seq, checkpoint.ErrDamaged)
}

// entries runs a statement that selects rows of graph_checkpoint.
func (s *Saver) entries(ctx context.Context, db Runner, st statement, args ...any) (all []entry, err error) {
	rows, err := db.Query(ctx, s.text[st], args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		e, err := scanRecord(rows)
		all = append(all, e)
		return err
	})
	return all, err
}

// records returns the records of entries, oldest first, from that with some index on. known is a line that may be theirs.
func (s *Saver) records(ctx context.Context, db Runner, at spot, all []entry, from int, known line) ([]checkpoint.Record, error) {
	lines, err := s.lines(ctx, db, at, all[from:], known)
	if err != nil {
		return nil, err
	}
	records := make([]checkpoint.Record, 0, len(all)-from)
	for i := from; i < len(all); i++ {
		var before *entry
		if i > 0 {
			before = &all[i-1]
		}
		l, found := lines[all[i].line]
		if !found {
			return nil, fmt.Errorf("record %d: there is no line %d: %w", all[i].Seq, all[i].line, checkpoint.ErrDamaged)
		}
		r, err := all[i].complete(&at, before, l)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// lines returns the lines of entries by their numbers. It asks for them when known is not the only one.
func (s *Saver) lines(ctx context.Context, db Runner, at spot, all []entry, known line) (map[int64]line, error) {
	lines := map[int64]line{known.no: known}
	first, last := int64(math.MaxInt64), int64(0)
	for i := range all {
		if no := all[i].line; no != known.no {
			first, last = min(first, no), max(last, no)
		}
	}
	if last == 0 {
		return lines, nil
	}
	rows, err := db.Query(ctx, s.text[stLines], at.root, first, last)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		l, err := scanLine(rows)
		lines[l.no] = l
		return err
	})
	return lines, err
}

func scanLine(rows Rows) (l line, err error) {
	var id, graph []byte
	var fingerprint int64
	if err := rows.Scan(&l.no, &id, &fingerprint, &graph); err != nil {
		return l, err
	}
	l.fingerprint, l.graph = uint64(fingerprint), string(graph)
	if !setID(&l.id, id) {
		return l, fmt.Errorf("line %d: an id is not 16 bytes long: %w", l.no, checkpoint.ErrDamaged)
	}
	return l, nil
}

// between returns the records of a log with a seq from first to last, oldest first, and their flags.
func (s *Saver) between(ctx context.Context, db Runner, at spot, first, last int64, known line) ([]checkpoint.Record, []entry, error) {
	all, err := s.entries(ctx, db, stRange, at.log, first-1, last) // with the one before
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	from := 0
	if all[0].Seq < uint64(first) {
		from = 1
	}
	records, err := s.records(ctx, db, at, all, from, known)
	return records, all[from:], err
}

// thread is a row of graph_thread.
type thread struct {
	no         int64
	id         string
	last, open int   // the newest version there ever was, and the open one: 0 for none
	root       int64 // the log of the open version's root
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
		&t.no, &full, &last, &open, &t.root, &versions, &status, &fence, &holder, &t.until, &t.updated, &asked, &t.now)
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
	return tx.Later(ctx, s.text[stUpdateThread], int64(t.last), int64(t.open), t.root, int64(t.versions), int64(t.status),
		bytes.Clone(t.fence[:]), []byte(t.holder), t.until, t.updated, asked, t.no)
}

// never is the time of a thread that has no open version.
const never = math.MaxInt64

// close makes the open version a released one.
func (s *Saver) close(ctx context.Context, tx Tx, t *thread) error {
	err := tx.Later(ctx, s.text[stReleaseVersion], int64(t.status), t.updated, t.now, t.no, int64(t.open))
	t.open, t.root, t.status, t.fence, t.holder, t.until, t.asked = 0, 0, 0, checkpoint.ID{}, "", 0, false
	t.updated = never // it is not among those that are idle
	return err
}

// spot is a log in the tables.
type spot struct {
	thread  int64
	version int64
	root    int64 // the log of the version's root
	log     int64

	id, namespace string // of the thread, and of the log
}

// unknown is the number of a namespace's log that is not there.
const unknown = 0

// lastSeq is that of the last record that a log has room for.
const lastSeq = 1<<28 - 1

// rootOf returns where the log of a version's root is.
func rootOf(t *thread, version int, root int64) spot {
	return spot{thread: t.no, version: int64(version), root: root, log: root, id: t.id}
}

// spot returns where a namespace's log is; its log is unknown when it has none.
func (s *Saver) spot(ctx context.Context, db Runner, root spot, namespace string) (at spot, err error) {
	at = root
	if at.namespace = namespace; namespace == "" {
		return at, nil
	}
	found, err := one(ctx, db, s.text[stNamespace], []any{at.thread, at.version, key(namespace)}, &at.log)
	if !found {
		at.log = unknown
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

// is reports whether l is the line of r.
func (l *line) is(r *checkpoint.Record) bool {
	return l.no != 0 && l.id == r.Line && l.fingerprint == r.Fingerprint && l.graph == r.Graph
}

// head returns the newest record of a log.
func (s *Saver) head(ctx context.Context, db Runner, at spot) (h head, err error) {
	if at.log == unknown {
		return h, nil
	}
	return h, h.read(ctx, db, s.text[stHead], []any{at.log, at.log})
}

// headChain returns the newest record of a log, and the seq of the newest snapshot; 0 for none.
func (s *Saver) headChain(ctx context.Context, db Runner, at spot) (h head, snapshot int64, err error) {
	if at.log == unknown {
		return h, 0, nil
	}
	var seq *int64
	err = h.read(ctx, db, s.text[stHeadChain], []any{at.log, at.log, at.log}, &seq)
	if seq != nil {
		snapshot = *seq
	}
	return h, snapshot, err
}

// read reads a head, and more columns of its row.
func (h *head) read(ctx context.Context, db Runner, text string, args []any, more ...any) error {
	var id, lineID, graph []byte
	var fingerprint int64
	columns := append([]any{&h.seq, &id, &h.step, &h.line.no, &lineID, &fingerprint, &graph}, more...)
	found, err := one(ctx, db, text, args, columns...)
	if err != nil || !found {
		return err
	}
	h.line.fingerprint, h.line.graph = uint64(fingerprint), string(graph)
	if !setID(&h.id, id) || !setID(&h.line.id, lineID) {
		return damagedID(h.seq)
	}
	return nil
}

// snapshotBefore returns the seq of the snapshot that restoring a record begins with; 0 for none.
func (s *Saver) snapshotBefore(ctx context.Context, db Runner, at spot, seq int64) (first int64, err error) {
	_, err = one(ctx, db, s.text[stSnapshotBefore], []any{at.log, seq}, &first)
	return first, err
}

// chain returns the records from a snapshot to another, as between does; first may be 0, which is damage.
func (s *Saver) chain(ctx context.Context, db Runner, at spot, first, last int64, known line) ([]checkpoint.Record, []entry, error) {
	if first == 0 {
		return nil, nil, fmt.Errorf("record %d has no snapshot before it: %w", last, checkpoint.ErrDamaged)
	}
	records, all, err := s.between(ctx, db, at, first, last, known)
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("record %d has gone: %w", last, checkpoint.ErrDamaged)
	}
	return records, all, err
}

// find returns the seq of a record in a log.
func (s *Saver) find(ctx context.Context, db Runner, at spot, id checkpoint.ID) (seq int64, found bool, err error) {
	var log int64
	found, err = one(ctx, db, s.text[stRecord], []any{at.root, id[:]}, &log, &seq)
	return seq, found && log == at.log, err
}
