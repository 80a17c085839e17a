package sqlsaver

import (
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// log is the log that an Append writes to, in a transaction that has locked the thread's row.
type log struct {
	s    *Saver
	tx   Tx
	t    *thread
	at   spot
	head head
	made bool // by this Append
}

// find makes l the log of a namespace in the open version.
func (l *log) find(ctx context.Context, namespace string) (err error) {
	if l.at, err = l.s.spot(ctx, l.tx, rootOf(l.t, l.t.open, l.t.root), namespace); err != nil {
		return err
	}
	l.head, err = l.s.head(ctx, l.tx, l.at)
	return err
}

// start begins the thread's next version, and makes l the log of its root.
func (l *log) start(ctx context.Context) error {
	err := l.s.start(ctx, l.tx, l.t)
	l.at, l.head, l.made = rootOf(l.t, l.t.open, l.t.root), head{}, true
	return err
}

// append does what the protocol says, in its order: see ledger.Version.Accept.
func (l *log) append(ctx context.Context, a *checkpoint.Append) (checkpoint.AppendResult, error) {
	if l.head.id != a.After { // only then can the records be there already
		last, stands, err := l.stands(ctx, a)
		if err != nil {
			return checkpoint.AppendResult{}, err
		}
		if stands && (a.Open == nil || l.t.fence == a.Records[0].ID) {
			return l.repeat(ctx, a, last)
		}
	}
	if err := l.accept(a); err != nil {
		return checkpoint.AppendResult{}, err
	}
	return l.add(ctx, a)
}

// accept returns the conflict of records that must not be stored.
func (l *log) accept(a *checkpoint.Append) error {
	switch {
	case a.Open != nil:
		if busy := l.t.busy(); busy != nil && !a.Open.TakeOver {
			return busy
		}
	case a.Fence != l.t.fence:
		return l.t.conflict("fence", a.Namespace, a.Fence, l.t.fence)
	}
	switch {
	case l.head.id != a.After:
		return l.t.conflict("head", a.Namespace, a.After, l.head.id)
	case a.Open != nil && !ledger.IsBirth(a.Open.Birth, birth(l.t.no)):
		return l.t.conflict("birth", a.Namespace, a.Open.Birth, birth(l.t.no))
	}
	return nil
}

// stands reports whether a's records are in the log already, at the place that a gives them, and
// the seq of the last. Prune may have removed the record before them and all of them but the last.
func (l *log) stands(ctx context.Context, a *checkpoint.Append) (last uint64, stands bool, err error) {
	if l.at.log == unknown {
		return 0, false, nil
	}
	n := int64(len(a.Records))
	for i := range a.Records {
		if err := l.unpack(ctx, a.Records[i].ID); err != nil {
			return 0, false, err
		}
	}
	if err := l.unpack(ctx, a.After); err != nil {
		return 0, false, err
	}
	end, found, err := l.s.find(ctx, l.tx, l.at, a.Records[n-1].ID, false)
	if err != nil || !found || end < n || (end == n) != a.After.IsZero() {
		return 0, false, err
	}
	rows, err := l.s.query(ctx, l.tx, stIDs, l.at.log, end-n, end)
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

func (l *log) unpack(ctx context.Context, id checkpoint.ID) error {
	return l.s.unpack(ctx, l.tx, l.t, int(l.at.version), l.at.root, id)
}

// repeat answers an Append whose records are in the log already.
func (l *log) repeat(ctx context.Context, a *checkpoint.Append, last uint64) (checkpoint.AppendResult, error) {
	done := checkpoint.AppendResult{Version: l.t.open, Head: last}
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

// add stores the records and writes of an Append that was accepted, and the thread's row.
func (l *log) add(ctx context.Context, a *checkpoint.Append) (checkpoint.AppendResult, error) {
	done := checkpoint.AppendResult{Version: l.t.open}
	if a.Open != nil {
		about, changed, err := l.t.about.Opened(a, time.UnixMicro(l.t.now))
		if err == nil && changed {
			err = l.s.become(ctx, l.tx, l.t, about)
		}
		if err != nil {
			return done, err
		}
	}
	if err := l.addRecords(ctx, a); err != nil {
		return done, err
	}
	done.Head = uint64(l.head.seq)
	asked, err := l.s.putWrites(ctx, l.tx, l.t, a.Writes)
	if err != nil {
		return done, err
	}
	l.t.asked = l.t.asked || asked
	sweeps := a.Open == nil && !a.End // now and then, when a commit renews the lease
	if a.Open != nil && (!l.made || slices.ContainsFunc(a.Writes, isPending)) {
		done.Writes, sweeps, err = l.s.pending(ctx, l.tx, l.t.id, l.t.root)
		if err != nil {
			return done, err
		}
		l.t.asked = len(checkpoint.OpenQuestions(done.Writes)) > 0
	}
	untaken, err := l.s.handle(ctx, l.tx, l.t, &a.Messages)
	if err == nil && a.Open != nil && !untaken {
		err = l.t.conflict("mail", a.Namespace, a.After, a.After)
	}
	if err != nil {
		return done, err
	}
	if sweeps {
		if err := l.s.later(ctx, l.tx, stSweepWrites, l.t.root); err != nil {
			return done, err
		}
	}
	if a.End {
		if err := l.putState(ctx, a.After, a.Records); err != nil {
			return done, err
		}
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

// insert stores a record at the end of the log; before is the id of the record with the seq
// before, zero for none.
func (l *log) insert(ctx context.Context, r *checkpoint.Record, before checkpoint.ID) error {
	if err := l.unpack(ctx, r.Commits); err != nil {
		return err
	}
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
	err := l.s.later(ctx, l.tx, stMarkCommitted, l.at.root, r.Commits[:])
	if err != nil {
		return err
	}
	return l.s.later(ctx, l.tx, stRemoveBaseWrites, l.at.root, r.Commits[:]) // there may be no row to mark
}

// name gives a namespace its log.
func (l *log) name(ctx context.Context, namespace string) (err error) {
	l.at.log, err = l.s.insertLog(ctx, l.tx, l.at.thread, l.at.version, namespace)
	return err
}

// lineOf makes the head's line that of r, which follows the head.
func (l *log) lineOf(ctx context.Context, r *checkpoint.Record) error {
	h := &l.head.line
	if h.is(r) {
		return nil
	}
	*h = l.at.line(r)
	return l.s.insertLine(ctx, l.tx, l.at.root, h)
}

// settle updates the thread's row after an Append.
func (l *log) settle(ctx context.Context, a *checkpoint.Append) error {
	t := l.t
	if a.Open != nil {
		t.attempts, t.wake = ledger.Attempts(t.attempts, a.Open.Retry, t.until == 0, t.status), t.now+micro(a.Lease)
		t.fence, t.holder, t.until, t.updated = a.Records[0].ID, a.Open.Holder, t.now+micro(a.Lease), t.now
	} else {
		l.lease(a)
	}
	if a.Status != 0 {
		t.status = a.Status
	}
	if a.Progress {
		t.attempts = 0
	}
	if a.End {
		t.end(a.Wake, a.Messages.Seen)
	}
	if a.Release {
		if err := l.s.close(ctx, l.tx, t); err != nil {
			return err
		}
	}
	return l.s.store(ctx, l.tx, t)
}
