package sqlsaver

import (
	"context"
	"errors"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Append stores records, as [checkpoint.Saver] says.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.Appended, error) {
	if err := a.Check(); err != nil {
		return checkpoint.Appended{}, err
	}
	if err := s.begin(ctx); err != nil {
		return checkpoint.Appended{}, err
	}
	defer s.end()
	done, h, stored, err := s.plain(ctx, &a)
	if !stored && (err == nil || s.uncertain(err)) {
		err = s.write(ctx, Lost, func(tx Tx) error {
			done, h, err = s.appendIn(ctx, tx, &a)
			return err
		})
	}
	if err != nil && s.fault(err) == Duplicate { // under the thread's lock only an id can be
		err = &checkpoint.ConflictError{Thread: a.Thread, Namespace: a.Namespace, Want: a.After, Found: s.used(ctx, &a), Reason: "exists"}
	}
	if err != nil {
		s.lose(a.Fence, err)
		return checkpoint.Appended{}, s.wrap(ctx, "append", err)
	}
	s.remember(&a, h)
	return done, nil
}

// used returns the first id of records that was used before, for an error: the first of all when it cannot
// look.
func (s *Saver) used(ctx context.Context, a *checkpoint.Append) checkpoint.ID {
	if len(a.Records) == 1 {
		return a.Records[0].ID
	}
	t, err := s.thread(ctx, s.db, stThread, a.Thread)
	if err != nil || t == nil {
		return a.Records[0].ID
	}
	for i := range a.Records {
		var ns, seq int64
		found, err := one(ctx, s.db, s.text[stRecord], []any{t.root, a.Records[i].ID[:]}, &ns, &seq)
		if found || err != nil {
			return a.Records[i].ID
		}
	}
	return a.Records[0].ID
}

// uncertain reports whether a statement failed so that a transaction may do better: it sees for itself whether the
// row was stored after all.
func (s *Saver) uncertain(err error) bool {
	fault := s.fault(err)
	return fault == Duplicate || fault == RolledBack || fault == Lost
}

// remember keeps what the next commit of a run goes by: where its log's head is. It keeps runs for as long as their
// leases are to end with the saver.
func (s *Saver) remember(a *checkpoint.Append, h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.End || a.Release {
		delete(s.runs, a.Fence)
		return
	}
	fence := a.Fence
	if a.Open != nil {
		fence = a.Records[0].ID
		s.runs[fence] = &run{thread: a.Thread, heads: make(map[string]held)}
	}
	r := s.runs[fence]
	if r == nil || h == nil {
		return
	}
	if _, found := r.heads[a.Namespace]; !found && len(r.heads) >= maxHeads {
		for other := range r.heads {
			delete(r.heads, other)
			break
		}
	}
	r.heads[a.Namespace] = *h
}

// lose drops what remember kept of a run that err says has lost its thread.
func (s *Saver) lose(fence checkpoint.ID, err error) {
	var conflict *checkpoint.ConflictError
	if errors.As(err, &conflict) && (conflict.Reason == "fence" || conflict.Reason == "released") {
		s.forget(fence)
	}
}

// forget drops what remember kept.
func (s *Saver) forget(fence checkpoint.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, fence)
}

// held returns the head of a namespace as far as a run's own writes say.
func (s *Saver) held(a *checkpoint.Append) (h held, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[a.Fence]; r != nil && r.thread == a.Thread {
		h, found = r.heads[a.Namespace]
	}
	return h, found
}

// plain stores a, if it is a commit that has nothing to change but the log, after a head that is known and of that head's
// line: by one statement while the run's lease has most of its time to go, by two when the run ends with it.
func (s *Saver) plain(ctx context.Context, a *checkpoint.Append) (done checkpoint.Appended, next *held, stored bool, err error) {
	r := &a.Records[0]
	if s.readable || a.Open != nil || a.Release || a.After.IsZero() || len(a.Records) > 1 || len(a.Writes) > 0 ||
		r.Base != r.ID || r.Parent != a.After || !r.Commits.IsZero() && r.Commits != a.After {
		return done, nil, false, nil
	}
	h, found := s.held(a)
	if !found || h.id != a.After || !h.line.is(r) || h.seq >= lastSeq {
		return done, nil, false, nil
	}
	if a.End {
		err = s.write(ctx, RolledBack, func(tx Tx) error { return s.commitLast(ctx, tx, a, &h) })
	} else {
		err = s.commit(ctx, s.db, a, &h)
	}
	switch {
	case errors.Is(err, errOther):
		return done, nil, false, nil
	case err != nil:
		return done, nil, false, err
	}
	h.id, h.seq = r.ID, h.seq+1
	return checkpoint.Appended{Version: h.version, Head: uint64(h.seq)}, &h, true, nil
}

// errOther is the error of a plain commit that is none: something is not as the run knows it.
var errOther = errors.New("something is not as it was")

// commit stores a plain commit after h, when all is as it says.
func (s *Saver) commit(ctx context.Context, db Runner, a *checkpoint.Append, h *held) error {
	r, lease := a.Records[0], micro(a.Lease)
	r.Seq = uint64(h.seq) + 1
	at := spot{id: a.Thread, namespace: a.Namespace}
	rows, err := db.Exec(ctx, s.text[stCommit], r.ID[:], flagsOf(&r, a.After), int64(r.Step), ledger.Micro(r.Created).UnixMicro(), at.body(&r),
		h.thread, a.Fence[:], optionalStatus(a.Status), lease-lease/4, lease, h.log, h.seq, a.After[:])
	if err == nil && rows == 0 {
		err = errOther
	}
	return err
}

// commitLast ends the run and stores a plain commit after h, or neither.
func (s *Saver) commitLast(ctx context.Context, tx Tx, a *checkpoint.Append, h *held) error {
	rows, err := tx.Exec(ctx, s.text[stEnd], optionalStatus(a.Status), key(a.Thread), a.Fence[:])
	if err == nil && rows == 0 {
		err = errOther
	}
	if err != nil {
		return err
	}
	return s.commit(ctx, tx, a, h)
}

// optionalStatus is a status as a value to bind, nil when it stays.
func optionalStatus(status checkpoint.Status) any {
	if status == 0 {
		return nil
	}
	return int64(status)
}

// appendIn stores a in a transaction, and returns the head then.
func (s *Saver) appendIn(ctx context.Context, tx Tx, a *checkpoint.Append) (checkpoint.Appended, *held, error) {
	starts := a.Open != nil && a.After.IsZero()
	t, err := s.thread(ctx, tx, stLockThread, a.Thread)
	if err == nil && t == nil && starts {
		t, err = s.create(ctx, tx, a.Thread)
	}
	if err != nil {
		return checkpoint.Appended{}, nil, err
	}
	if t != nil && a.Release {
		if done, released, err := s.released(ctx, tx, t, a); err != nil || released {
			return done, nil, err
		}
	}
	l := &log{s: s, tx: tx, t: t}
	switch {
	case t == nil || t.open == 0 && !starts:
		return checkpoint.Appended{}, nil, missing(a, t)
	case t.open == 0:
		err = l.start(ctx)
	default:
		err = l.find(ctx, a.Namespace)
	}
	if err != nil {
		return checkpoint.Appended{}, nil, err
	}
	done, err := l.append(ctx, a)
	return done, &held{thread: t.no, version: done.Version, log: l.at.log, head: l.head}, err
}

// create makes the row of a thread that has no version yet, and locks it.
func (s *Saver) create(ctx context.Context, tx Tx, id string) (*thread, error) {
	var none checkpoint.ID
	if _, err := tx.Exec(ctx, s.text[stInsertThread], key(id), rest(id), none[:], []byte{}); err != nil {
		if s.d.Classify(err) == Duplicate {
			err = &againError{err} // another call made it just now
		}
		return nil, err
	}
	return s.thread(ctx, tx, stLockThread, id)
}

// start makes a thread's next version.
func (s *Saver) start(ctx context.Context, tx Tx, t *thread) (err error) {
	t.last++
	t.versions++
	t.updated = t.now
	t.open, t.status, t.fence, t.holder, t.until, t.asked = t.last, checkpoint.Running, checkpoint.ID{}, "", 0, false
	t.root, err = tx.Insert(ctx, s.text[stInsertLog], t.no, int64(t.open), key(""), nil)
	if err != nil {
		return err
	}
	return tx.Later(ctx, s.text[stInsertVersion], t.no, int64(t.open), t.root, int64(t.status), t.updated)
}

// missing is the conflict of an Append to a thread without an open version; t may be nil.
func missing(a *checkpoint.Append, t *thread) error {
	want, reason := a.Fence, "fence"
	if a.Open != nil {
		want, reason = a.After, "head"
	}
	return ledger.Missing(a.Thread, a.Namespace, want, reason, t != nil && t.versions > 0)
}

// released reports whether an earlier call of a released the newest released version, and what it returned.
func (s *Saver) released(ctx context.Context, tx Tx, t *thread, a *checkpoint.Append) (checkpoint.Appended, bool, error) {
	var number, root int64
	found, err := one(ctx, tx, s.text[stLastReleased], []any{t.no}, &number, &root)
	if err != nil || !found {
		return checkpoint.Appended{}, false, err
	}
	at, err := s.spot(ctx, tx, rootOf(t, int(number), root), a.Namespace)
	if err != nil {
		return checkpoint.Appended{}, false, err
	}
	l := log{s: s, tx: tx, t: t, at: at}
	last, stands, err := l.stands(ctx, a)
	done := checkpoint.Appended{Version: int(number), Head: last}
	if err == nil && stands && a.Open != nil {
		done.Writes, err = s.writes(ctx, tx, t.id, root)
	}
	return done, stands, err
}

// log is the log that an Append is for, with the thread's row locked.
type log struct {
	s    *Saver
	tx   Tx
	t    *thread
	at   spot
	head head
	made bool // by this Append
}

// find makes l a namespace's log in the open version.
func (l *log) find(ctx context.Context, namespace string) (err error) {
	if l.at, err = l.s.spot(ctx, l.tx, rootOf(l.t, l.t.open, l.t.root), namespace); err != nil {
		return err
	}
	l.head, err = l.s.head(ctx, l.tx, l.at)
	return err
}

// start makes the thread's next version, and l its root's log.
func (l *log) start(ctx context.Context) error {
	err := l.s.start(ctx, l.tx, l.t)
	l.at, l.head, l.made = rootOf(l.t, l.t.open, l.t.root), head{}, true
	return err
}

// append does what the protocol says, in its order: see ledger.Version.Accept.
func (l *log) append(ctx context.Context, a *checkpoint.Append) (checkpoint.Appended, error) {
	if l.head.id != a.After { // only then can the records stand already
		last, stands, err := l.stands(ctx, a)
		if err != nil {
			return checkpoint.Appended{}, err
		}
		if stands && (a.Open == nil || l.t.fence == a.Records[0].ID) {
			return l.repeat(ctx, a, last)
		}
	}
	if err := l.accept(a); err != nil {
		return checkpoint.Appended{}, err
	}
	return l.add(ctx, a)
}

// accept says whether records that do not stand may be stored.
func (l *log) accept(a *checkpoint.Append) error {
	switch {
	case a.Open != nil:
		if busy := l.t.busy(); busy != nil && !a.Open.TakeOver {
			return busy
		}
	case a.Fence != l.t.fence:
		return l.t.conflict("fence", a.Namespace, a.Fence, l.t.fence)
	}
	if l.head.id != a.After {
		return l.t.conflict("head", a.Namespace, a.After, l.head.id)
	}
	return nil
}

// stands reports whether the records offered stand where they were to go, and the seq of the last. Of those before it, and of
// the one that they follow, a Prune may have removed some.
func (l *log) stands(ctx context.Context, a *checkpoint.Append) (last uint64, stands bool, err error) {
	if l.at.log == unknown {
		return 0, false, nil
	}
	n := int64(len(a.Records))
	end, found, err := l.s.find(ctx, l.tx, l.at, a.Records[n-1].ID)
	if err != nil || !found || end < n || (end == n) != a.After.IsZero() {
		return 0, false, err
	}
	rows, err := l.tx.Query(ctx, l.s.text[stIDs], l.at.log, end-n, end)
	if err != nil {
		return 0, false, err
	}
	stands = true
	err = each(rows, func(rows Rows) error {
		var b []byte
		var seq int64
		if err := rows.Scan(&b, &seq); err != nil {
			return err
		}
		want := a.After
		if at := seq - (end - n); at > 0 {
			want = a.Records[at-1].ID
		}
		var id checkpoint.ID
		stands = stands && setID(&id, b) && id == want
		return nil
	})
	return uint64(end), stands, err
}

// repeat answers an Append whose records stand.
func (l *log) repeat(ctx context.Context, a *checkpoint.Append, last uint64) (checkpoint.Appended, error) {
	done := checkpoint.Appended{Version: l.t.open, Head: last}
	if a.Open != nil || a.Fence == l.t.fence {
		l.lease(a)
		if err := l.s.store(ctx, l.tx, l.t); err != nil {
			return done, err
		}
	}
	var err error
	if a.Open != nil {
		done.Writes, err = l.s.writes(ctx, l.tx, l.t.id, l.t.root)
	}
	return done, err
}

// lease renews the lease, unless the run has given it up.
func (l *log) lease(a *checkpoint.Append) {
	if l.t.until != 0 {
		l.t.until = l.t.now + micro(a.Lease)
	}
}

// add stores the records and writes of an Append that was accepted, and what follows from them for the thread.
func (l *log) add(ctx context.Context, a *checkpoint.Append) (checkpoint.Appended, error) {
	done := checkpoint.Appended{Version: l.t.open}
	if err := l.addRecords(ctx, a); err != nil {
		return done, err
	}
	done.Head = uint64(l.head.seq)
	asked, err := l.s.putWrites(ctx, l.tx, l.t, a.Writes)
	if err != nil {
		return done, err
	}
	l.t.asked = l.t.asked || asked
	dead := a.Open == nil && !a.End // now and then, when a commit renews the lease
	if a.Open != nil && (!l.made || asked || len(a.Writes) > 0) {
		done.Writes, dead, err = l.s.pending(ctx, l.tx, l.t.id, l.t.root)
		if err != nil {
			return done, err
		}
		l.t.asked = len(checkpoint.OpenQuestions(done.Writes)) > 0
	}
	if dead {
		if err := l.tx.Later(ctx, l.s.text[stSweep], l.t.root); err != nil {
			return done, err
		}
	}
	if err := l.putState(ctx, a.Records); err != nil {
		return done, err
	}
	return done, l.settle(ctx, a)
}

// addRecords stores the records and moves the head.
func (l *log) addRecords(ctx context.Context, a *checkpoint.Append) error {
	if l.at.log == unknown {
		if err := l.name(ctx, a.Namespace); err != nil {
			return err
		}
	}
	for i := range a.Records {
		r := a.Records[i]
		r.Seq = uint64(l.head.seq) + 1
		if err := l.insert(ctx, &r, l.head.id); err != nil {
			return err
		}
	}
	return nil
}

// insert stores a record at the end of the log; before is the id of the one with the seq before, zero for none.
func (l *log) insert(ctx context.Context, r *checkpoint.Record, before checkpoint.ID) error {
	if err := l.lineOf(ctx, r); err != nil {
		return err
	}
	if err := l.s.insert(ctx, l.tx, l.at, r, l.head.line.no, before); err != nil {
		return err
	}
	l.head.id, l.head.seq = r.ID, int64(r.Seq)
	if r.Commits.IsZero() || r.Commits == before {
		return nil
	}
	err := l.tx.Later(ctx, l.s.text[stMarkCommitted], l.at.root, r.Commits[:])
	if err != nil {
		return err
	}
	return l.tx.Later(ctx, l.s.text[stDropBase], l.at.root, r.Commits[:]) // the base may not stand here
}

// name gives a namespace its log.
func (l *log) name(ctx context.Context, namespace string) (err error) {
	l.at.log, err = l.tx.Insert(ctx, l.s.text[stInsertLog], l.at.thread, l.at.version, key(namespace), rest(namespace))
	return err
}

// lineOf makes the head's line that of r, which follows it: the same, or a new one with a number that r alone has. In
// the root's log that is its seq.
func (l *log) lineOf(ctx context.Context, r *checkpoint.Record) error {
	h := &l.head.line
	if h.is(r) {
		return nil
	}
	*h = line{
		no: (l.at.log-l.at.root)*(lastSeq+1) + int64(r.Seq), id: r.Line, fingerprint: r.Fingerprint,
		graph: strings.Clone(r.Graph), // the caller's string may be part of something large
	}
	return l.tx.Later(ctx, l.s.text[stInsertLine], l.at.root, h.no, r.Line[:], int64(r.Fingerprint), []byte(r.Graph))
}

// settle makes the thread's row what it is after an Append.
func (l *log) settle(ctx context.Context, a *checkpoint.Append) error {
	t := l.t
	if a.Open != nil {
		t.fence, t.holder, t.until, t.updated = a.Records[0].ID, a.Open.Holder, t.now+micro(a.Lease), t.now
	} else {
		l.lease(a)
	}
	if a.Status != 0 {
		t.status = a.Status
	}
	if a.End {
		t.until, t.updated = 0, t.now
	}
	if a.Release {
		if err := l.s.close(ctx, l.tx, t); err != nil {
			return err
		}
	}
	return l.s.store(ctx, l.tx, t)
}
