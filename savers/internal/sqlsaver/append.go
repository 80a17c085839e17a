package sqlsaver

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Append stores records, as [checkpoint.Saver] says.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if err := a.Check(); err != nil {
		return checkpoint.AppendResult{}, err
	}
	if err := s.begin(ctx); err != nil {
		return checkpoint.AppendResult{}, err
	}
	defer s.end()
	if err := s.plainState(&a); err != nil {
		return checkpoint.AppendResult{}, s.wrap(ctx, "append", err)
	}
	done, h, stored, err := s.single(ctx, &a)
	if !stored && (err == nil || s.uncertain(err)) {
		err = s.share(ctx, Lost, func(tx Tx) error {
			done, h, err = s.appendIn(ctx, tx, &a)
			return err
		})
	}
	if err != nil && s.fault(err) == Duplicate { // under the thread's lock only an id can be, of another namespace
		err = &checkpoint.ConflictError{Thread: a.Thread, Namespace: a.Namespace, Want: a.After, Found: a.Records[0].ID, Reason: "exists"}
	}
	if err != nil {
		s.lose(a.Fence, err)
		return checkpoint.AppendResult{}, s.wrapWrite(ctx, "append", err, ledger.Largest(a.Records, a.Writes))
	}
	s.remember(&a, h)
	if s.readable && a.Namespace == "" && h != nil {
		s.note(h.log, &a)
	}
	if s.packing.AtOnce && h != nil {
		err = s.pack(context.WithoutCancel(ctx), job{a.Thread, a.Namespace, h.root, h.log})
	}
	return done, s.wrap(ctx, "pack", err)
}

// single stores an Append by a single statement, if it is of a kind that has one. Otherwise stored
// is false.
func (s *Saver) single(ctx context.Context, a *checkpoint.Append) (done checkpoint.AppendResult, next *held, stored bool, err error) {
	if a.Open != nil {
		return s.openNew(ctx, a)
	}
	return s.plain(ctx, a)
}

// uncertain reports whether a transaction may succeed after a statement that failed. The
// transaction checks whether the statement stored its row.
func (s *Saver) uncertain(err error) bool {
	fault := s.fault(err)
	return fault == Duplicate || fault == RolledBack || fault == Lost
}

// appendIn stores a in a transaction, and returns the new head; nil if an earlier call of a
// released the version.
func (s *Saver) appendIn(ctx context.Context, tx Tx, a *checkpoint.Append) (checkpoint.AppendResult, *held, error) {
	starts := a.Open != nil && a.After.IsZero()
	t, err := s.thread(ctx, tx, stLockThread, a.Thread)
	if err == nil && t == nil && starts {
		t, err = s.create(ctx, tx, a.Thread)
	}
	if err != nil {
		return checkpoint.AppendResult{}, nil, err
	}
	if t != nil && a.Release {
		if done, released, err := s.released(ctx, tx, t, a); err != nil || released {
			if a.Open != nil {
				done.Now, done.Birth = createdAt(t.now), birth(t.no)
			}
			return done, nil, err
		}
	}
	l := &log{s: s, tx: tx, t: t}
	switch {
	case t == nil || t.open == 0 && !starts:
		return checkpoint.AppendResult{}, nil, missing(a, t)
	case t.open == 0:
		err = l.start(ctx)
	default:
		err = l.find(ctx, a.Namespace)
	}
	if err != nil {
		return checkpoint.AppendResult{}, nil, err
	}
	done, err := l.append(ctx, a)
	if a.Open != nil {
		done.Attempts, done.Now, done.Birth = t.attempts, createdAt(t.now), birth(t.no)
	}
	done.Posted = uint64(t.posted)
	return done, &held{thread: t.no, version: done.Version, root: l.at.root, log: l.at.log, head: l.head}, err
}

// create inserts the row of a thread that has no version yet, and locks it.
func (s *Saver) create(ctx context.Context, tx Tx, id string) (*thread, error) {
	var none checkpoint.ID
	if _, err := s.exec(ctx, tx, stInsertThread, []byte(id), none[:], []byte{}); err != nil {
		if s.d.Classify(err) == Duplicate {
			err = &againError{err} // another call has just inserted it
		}
		return nil, err
	}
	return s.thread(ctx, tx, stLockThread, id)
}

// start begins a thread's next version.
func (s *Saver) start(ctx context.Context, tx Tx, t *thread) (err error) {
	t.last++
	t.versions++
	t.updated = t.now
	t.open, t.status, t.fence, t.holder, t.until, t.asked = t.last, checkpoint.Running, checkpoint.ID{}, "", 0, false
	t.packed = checkpoint.ID{} // of this version nothing is
	t.wake, t.attempts = 0, 0
	t.root, err = s.insertLog(ctx, tx, t.no, int64(t.open), "")
	if err != nil {
		return err
	}
	return s.later(ctx, tx, stInsertVersion, t.no, int64(t.open), t.root, int64(t.status), t.updated)
}

// missing is the conflict of an Append to a thread without an open version; t may be nil.
func missing(a *checkpoint.Append, t *thread) error {
	want, reason := a.Fence, "fence"
	if a.Open != nil {
		want, reason = a.After, "head"
	}
	return ledger.Missing(a.Thread, a.Namespace, want, reason, t != nil && t.versions > 0)
}

// released reports whether an earlier call of a released the newest released version, and what
// that call returned.
func (s *Saver) released(ctx context.Context, tx Tx, t *thread, a *checkpoint.Append) (checkpoint.AppendResult, bool, error) {
	var number, root int64
	found, err := s.one(ctx, tx, stLastReleasedVersion, []any{t.no}, &number, &root)
	if err != nil || !found {
		return checkpoint.AppendResult{}, false, err
	}
	at, err := s.spot(ctx, tx, rootOf(t, int(number), root), a.Namespace)
	if err != nil {
		return checkpoint.AppendResult{}, false, err
	}
	l := log{s: s, tx: tx, t: t, at: at}
	last, stands, err := l.stands(ctx, a)
	done := checkpoint.AppendResult{Version: int(number), Head: last, Posted: uint64(t.posted)}
	if err == nil && stands && a.Open != nil {
		done.Writes, err = s.writes(ctx, tx, t.id, root)
	}
	return done, stands, err
}
