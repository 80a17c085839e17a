package file

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// enter locks the file of a thread's open version for writing, and reads the new part. If there
// is no file, it creates one if create is set, and returns errAbsent otherwise. It first finishes
// the steps that a dead process left half-way.
func (v *volume) enter(ctx context.Context, create bool) error {
	for {
		err := v.lock(ctx)
		switch {
		case errors.Is(err, errAbsent):
			again, err := v.appear(ctx, create)
			if err != nil {
				return err
			}
			if !again {
				return errAbsent
			}
			continue
		case err != nil:
			return err
		}
		if err := v.refresh(writing); err != nil {
			v.unlock()
			return err
		}
		left, err := v.left()
		if err == nil && !left {
			return nil
		}
		v.unlock()
		if err == nil {
			err = v.settle(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// left reports whether the steps of a release or a deletion remain. The file is locked and read.
// An empty file says nothing. Its writer can have looked for those steps before the operation
// began, and created the file after the first step.
func (v *volume) left() (bool, error) {
	if v.v != nil {
		return !v.v.Released.IsZero(), nil
	}
	return v.halfway()
}

// halfway reports whether a release or a deletion has moved the thread's file away, and has not
// ended.
func (v *volume) halfway() (bool, error) {
	next, err := exists(v.s.siblingPath(v.base, nextName))
	if err != nil || next {
		return next, err
	}
	return exists(v.s.siblingPath(v.base, goneName))
}

// appear handles a missing file. It finishes the operation that removed the file, or creates the
// file. again reports whether the caller must look again.
func (v *volume) appear(ctx context.Context, create bool) (again bool, err error) {
	left, err := v.halfway()
	if err != nil {
		return false, err
	}
	if left {
		return true, v.settle(ctx)
	}
	if !create {
		return false, nil
	}
	return true, v.create()
}

// Append stores records, as [checkpoint.Saver] says.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if err := s.begin(ctx, a.Check()); err != nil {
		return checkpoint.AppendResult{}, err
	}
	defer s.calls.Done()
	v := s.use(a.Thread, baseName(a.Thread), 0)
	defer s.done(v)
	done, err := v.append(ctx, &a)
	if err != nil && a.Release && errors.Is(err, checkpoint.ErrConflict) {
		return s.releasedBefore(ctx, &a, v, err)
	}
	if err == nil && a.Release {
		// The release is stored. Only renames remain; the next writer does them if they fail now.
		_ = v.settle(ctx)
		s.forgetDue()
	}
	return done, err
}

// append stores an Append, and counts the bytes that it adds to memory.
func (v *volume) append(ctx context.Context, a *checkpoint.Append) (done checkpoint.AppendResult, err error) {
	err = v.counting(func() error {
		done, err = v.tryAppend(ctx, a)
		return err
	})
	return done, err
}

// tryAppend stores an Append under the lock of the file.
func (v *volume) tryAppend(ctx context.Context, a *checkpoint.Append) (checkpoint.AppendResult, error) {
	err := v.enter(ctx, a.Open != nil && a.After.IsZero())
	if errors.Is(err, errAbsent) {
		return checkpoint.AppendResult{}, ledger.MissingAppend(a, v.version().Number > 1)
	}
	if err != nil {
		return checkpoint.AppendResult{}, err
	}
	defer v.unlock()
	version, now := v.version(), time.Now()
	if version.Empty() && (a.Open == nil || !a.After.IsZero()) {
		return checkpoint.AppendResult{}, ledger.MissingAppend(a, version.Number > 1)
	}
	if version.Empty() && a.Release { // an earlier call may have begun and released a version
		if done, err := v.s.releasedBefore(ctx, a, v, errNew); !errors.Is(err, errNew) {
			return done, err
		}
	}
	var busy, tooMany error
	var about *ledger.About
	if a.Open != nil {
		if busy, err = v.busy(now); err != nil {
			return checkpoint.AppendResult{}, err
		}
	}
	if after, changed, err := version.About.After(a, now); err != nil {
		tooMany = err
	} else if changed {
		about = &after
	}
	repeated, err := version.Accept(a, busy)
	if err != nil {
		return checkpoint.AppendResult{}, err
	}
	if repeated {
		if a.Open != nil || a.Fence == version.Fence {
			err = v.hold(a.Lease, now)
		} else {
			err = v.confirm()
		}
		return version.Appended(a, now), err
	}
	if tooMany != nil {
		return checkpoint.AppendResult{}, tooMany
	}
	if err := v.store(a, version, about, now); err != nil {
		return checkpoint.AppendResult{}, err
	}
	return v.v.Appended(a, now), nil
}

// store writes an accepted Append, with its lease and the thread's new description, if it changes.
func (v *volume) store(a *checkpoint.Append, version *ledger.Version, about *ledger.About, now time.Time) error {
	records := make([]checkpoint.Record, len(a.Records))
	seq := version.NextSeq(a.Namespace)
	for i := range a.Records {
		records[i] = ledger.Normal(a.Records[i])
		records[i].Seq = seq + uint64(i)
	}
	e := new(ledger.Event)
	version.Append(e, a, nil, ledger.CloneWrites(a.Writes), ledger.Micro(now))
	e.About = about
	if a.Open != nil && !a.End {
		return v.storeOpening(a, func() error { return v.write(e, records) }, now)
	}
	if err := v.write(e, records); err != nil {
		return err
	}
	return v.hold(a.Lease, now)
}

// errNew says that no earlier call of an Append released its version.
var errNew = errors.New("not released before")

// releasedBefore answers an Append that conflicts, but was stored by an earlier call that
// released its version.
func (s *Saver) releasedBefore(ctx context.Context, a *checkpoint.Append, open *volume, conflict error) (checkpoint.AppendResult, error) {
	if open.v == nil || open.v.Number < 2 {
		return checkpoint.AppendResult{}, conflict
	}
	v := s.use(a.Thread, open.base, open.v.Number-1)
	defer s.done(v)
	if err := v.read(ctx); err != nil {
		if errors.Is(err, errAbsent) {
			err = conflict
		}
		return checkpoint.AppendResult{}, err
	}
	if v.v == nil || !v.v.Stands(a) {
		return checkpoint.AppendResult{}, conflict
	}
	done := v.v.Appended(a, time.Now())
	done.Posted = open.v.Mail.Posted
	return done, nil
}

// PutWrites stores pending writes, as [checkpoint.Saver] says. If it stores nothing, it writes
// nothing.
func (s *Saver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if err := s.begin(ctx, w.Check()); err != nil {
		return checkpoint.PutResult{}, err
	}
	defer s.calls.Done()
	v := s.use(w.Thread, baseName(w.Thread), 0)
	defer s.done(v)
	var done checkpoint.PutResult
	err := v.counting(func() error {
		err := v.putWrites(ctx, &w)
		if err == nil {
			done.Posted = v.v.Mail.Posted
		}
		return err
	})
	return done, err
}

// putWrites stores pending writes under the lock of the file.
func (v *volume) putWrites(ctx context.Context, w *checkpoint.PutWrites) error {
	err := v.enter(ctx, false)
	if errors.Is(err, errAbsent) {
		return ledger.Missing(w.Thread, "", w.Fence, "fence", false)
	}
	if err != nil {
		return err
	}
	defer v.unlock()
	version, now := v.version(), time.Now()
	if version.Empty() {
		return ledger.Missing(w.Thread, "", w.Fence, "fence", version.Number > 1)
	}
	if err := version.AcceptWrites(w); err != nil {
		return err
	}
	if len(w.Writes) > 0 || !w.Messages.Empty() || w.End || w.Progress && version.Attempts > 0 || w.Status != 0 && w.Status != version.Status {
		e := version.Put(w, ledger.CloneWrites(w.Writes), ledger.Micro(now))
		if err := v.write(e, nil); err != nil {
			return err
		}
	}
	return v.hold(w.Lease, now)
}
