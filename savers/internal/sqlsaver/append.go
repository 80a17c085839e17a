package sqlsaver

import (
	"context"
	"errors"

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
	done, stored, err := s.commit(ctx, &a)
	if !stored && (err == nil || s.uncertain(err)) {
		err = s.write(ctx, Lost, func(tx Tx) error {
			done, err = s.appendIn(ctx, tx, &a)
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
	s.remember(&a)
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
		found, err := one(ctx, s.db, s.text[stRecord], []any{t.no, int64(t.open), a.Records[i].ID[:]}, &ns, &seq)
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

// remember keeps the leases that are to end with the saver.
func (s *Saver) remember(a *checkpoint.Append) {
	if a.Open == nil && !a.End {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.End {
		delete(s.runs, a.Fence)
	} else {
		s.runs[a.Records[0].ID] = run{thread: a.Thread}
	}
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

// commit stores a by one statement, if it is a plain commit and the run's lease has most of its time to go.
func (s *Saver) commit(ctx context.Context, a *checkpoint.Append) (done checkpoint.Appended, stored bool, err error) {
	r := &a.Records[0]
	if s.readable || a.Open != nil || a.End || a.After.IsZero() || len(a.Records) > 1 || len(a.Writes) > 0 ||
		r.Base != r.ID || r.Parent != a.After || !r.Commits.IsZero() && r.Commits != a.After {
		return done, false, nil
	}
	var status any
	if a.Status != 0 {
		status = int64(a.Status)
	}
	lease := micro(a.Lease)
	args := []any{
		r.ID[:], flagsOf(r, a.After), int64(r.Step), ledger.Micro(r.Created).UnixMicro(), bodyOf(r),
		a.After[:], key(a.Thread), a.Fence[:], status, lease - lease/4, lease,
		r.Line[:], int64(r.Fingerprint), []byte(r.Graph),
	}
	st := stCommitRoot
	if a.Namespace != "" {
		st, args = stCommitChild, append(args, key(a.Namespace))
	}
	version, seq, stored, err := s.db.Place(ctx, s.text[st], args...)
	return checkpoint.Appended{Version: version, Head: seq}, stored, err
}

// appendIn stores a in a transaction.
func (s *Saver) appendIn(ctx context.Context, tx Tx, a *checkpoint.Append) (checkpoint.Appended, error) {
	starts := a.Open != nil && a.After.IsZero()
	t, err := s.thread(ctx, tx, stLockThread, a.Thread)
	if err == nil && t == nil && starts {
		t, err = s.create(ctx, tx, a.Thread)
	}
	if err != nil {
		return checkpoint.Appended{}, err
	}
	if t != nil && a.Release {
		if done, released, err := s.released(ctx, tx, t, a); err != nil || released {
			return done, err
		}
	}
	switch {
	case t == nil || t.open == 0 && !starts:
		return checkpoint.Appended{}, missing(a, t)
	case t.open == 0:
		if err := s.start(ctx, tx, t); err != nil {
			return checkpoint.Appended{}, err
		}
	}
	l, err := s.log(ctx, tx, t, a.Namespace)
	if err != nil {
		return checkpoint.Appended{}, err
	}
	return l.append(ctx, a)
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
func (s *Saver) start(ctx context.Context, tx Tx, t *thread) error {
	t.last++
	t.versions++
	t.updated = t.now
	t.open, t.status, t.fence, t.holder, t.until, t.asked = t.last, checkpoint.Running, checkpoint.ID{}, "", 0, false
	return tx.Later(ctx, s.text[stInsertVersion], t.no, int64(t.open), int64(t.status), t.updated)
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
	var number int64
	found, err := one(ctx, tx, s.text[stLastReleased], []any{t.no}, &number)
	if err != nil || !found {
		return checkpoint.Appended{}, false, err
	}
	at, err := s.spot(ctx, tx, t, int(number), a.Namespace)
	if err != nil {
		return checkpoint.Appended{}, false, err
	}
	l := log{s: s, tx: tx, t: t, at: at}
	last, stands, err := l.stands(ctx, a)
	done := checkpoint.Appended{Version: int(number), Head: last}
	if err == nil && stands && a.Open != nil {
		done.Writes, err = s.writes(ctx, tx, t, int(number))
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
}

// log returns a namespace's log in the open version.
func (s *Saver) log(ctx context.Context, tx Tx, t *thread, namespace string) (*log, error) {
	at, err := s.spot(ctx, tx, t, t.open, namespace)
	if err != nil {
		return nil, err
	}
	h, err := s.head(ctx, tx, at)
	return &log{s: s, tx: tx, t: t, at: at, head: h}, err
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

// stands reports whether the records offered stand where they were to go, and the seq of the last.
func (l *log) stands(ctx context.Context, a *checkpoint.Append) (last uint64, stands bool, err error) {
	if l.at.ns == unknown {
		return 0, false, nil
	}
	first, found, err := l.s.find(ctx, l.tx, l.at, a.Records[0].ID)
	if err != nil || !found {
		return 0, false, err
	}
	var before checkpoint.ID
	var b []byte
	if _, err := one(ctx, l.tx, l.s.text[stPreceding], []any{l.at.thread, l.at.version, l.at.ns, first}, &b); err != nil {
		return 0, false, err
	}
	if !setID(&before, b) || before != a.After {
		return 0, false, nil
	}
	rows, err := l.tx.Query(ctx, l.s.text[stFollowing], l.at.thread, l.at.version, l.at.ns, first, int64(len(a.Records)))
	if err != nil {
		return 0, false, err
	}
	n := 0
	err = each(rows, func(rows Rows) error {
		var id checkpoint.ID
		if err := rows.Scan(&b, &last); err != nil {
			return err
		}
		if setID(&id, b) && id == a.Records[n].ID {
			n++
		}
		return nil
	})
	return last, n == len(a.Records), err
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
		done.Writes, err = l.s.writes(ctx, l.tx, l.t, l.t.open)
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
	if a.Open != nil {
		done.Writes, dead, err = l.s.pending(ctx, l.tx, l.t, l.t.open)
		if err != nil {
			return done, err
		}
		l.t.asked = len(checkpoint.OpenQuestions(done.Writes)) > 0
	}
	if dead {
		if err := l.tx.Later(ctx, l.s.text[stSweep], l.t.no, int64(l.t.open)); err != nil {
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
	if l.at.ns == unknown {
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
	err := l.tx.Later(ctx, l.s.text[stMarkCommitted], l.at.thread, l.at.version, r.Commits[:])
	if err != nil {
		return err
	}
	return l.tx.Later(ctx, l.s.text[stDropBase], l.at.thread, l.at.version, r.Commits[:]) // the base may not stand here
}

// name gives a namespace its number. The root has 0, and no row.
func (l *log) name(ctx context.Context, namespace string) error {
	var last int64
	if _, err := one(ctx, l.tx, l.s.text[stLastNamespace], []any{l.at.thread, l.at.version}, &last); err != nil {
		return err
	}
	l.at.ns = last + 1
	return l.tx.Later(ctx, l.s.text[stInsertNamespace], l.at.thread, l.at.version, l.at.ns, key(namespace), rest(namespace))
}

// lineUnit is what a namespace counts in the number of a line.
const lineUnit = 1 << 40

// lineOf makes the head's line that of r, which follows it: the same, or a new one with a number that r alone has.
func (l *log) lineOf(ctx context.Context, r *checkpoint.Record) error {
	h := &l.head.line
	if h.no != 0 && h.id == r.Line && h.fingerprint == r.Fingerprint && h.graph == r.Graph {
		return nil
	}
	*h = line{no: l.at.ns*lineUnit + int64(r.Seq), id: r.Line, fingerprint: r.Fingerprint, graph: r.Graph}
	return l.tx.Later(ctx, l.s.text[stInsertLine], l.at.thread, l.at.version, h.no, r.Line[:], int64(r.Fingerprint), []byte(r.Graph))
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
