package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Operations that take several steps on files run under the folder's lock.
//
// A release is stored as soon as its frame is. Then the file of the next version is created under
// a temporary name. The open file gets the released version's name, and the new file takes its
// place.
//
// A deletion is stored as soon as the open version's file has the name of a deleted one. Then all
// files are removed, that one last.
//
// A process that finds steps of another process that died finishes them.

// lockFolder keeps others from releasing and deleting threads of the folder until the caller
// calls the returned function. A call that has a volume may lock the folder, but not the other
// way round.
func (s *Saver) lockFolder(ctx context.Context) (func(), error) {
	f, err := openRegular(filepath.Join(s.dir, lockName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	if err := poll(ctx, f, func() error { return nil }); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // nothing was written to it
}

// settle finishes the remaining steps of a thread.
func (v *volume) settle(ctx context.Context) error {
	unlock, err := v.s.lockFolder(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return v.settleLocked(ctx)
}

// settleLocked finishes the remaining steps of a thread, under the folder's lock.
func (v *volume) settleLocked(ctx context.Context) error {
	err := v.lockUnder(ctx)
	if errors.Is(err, errAbsent) {
		return v.reappear(ctx)
	}
	if err != nil {
		return err
	}
	defer v.unlock()
	if err := v.refresh(writing); err != nil {
		return err
	}
	if v.v == nil { // nothing has been written to it
		return v.reappear(ctx)
	}
	if v.v.Released.IsZero() {
		return nil
	}
	return v.retire()
}

// reappear finishes a deletion, or the last step of a release, if the thread's file is missing or
// empty. The earlier steps might not be durable yet.
func (v *volume) reappear(ctx context.Context) error {
	gone, err := exists(v.s.siblingPath(v.base, goneName))
	if err != nil {
		return err
	}
	next := v.s.siblingPath(v.base, nextName)
	there, err := exists(next)
	if err != nil || !there && !gone {
		return err
	}
	if err := v.s.disk.syncDir(v.s.dir); err != nil {
		return fmt.Errorf("file: %w", err)
	}
	if gone {
		return v.erase(ctx)
	}
	return v.move(next, v.path)
}

// move renames a file, durably.
func (v *volume) move(from, to string) error {
	err := v.s.disk.rename(from, to)
	if err == nil {
		err = v.s.disk.syncDir(v.s.dir)
	}
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}

// retire gives the file of a released version the version's name. An empty file for the next
// version replaces it.
func (v *volume) retire() error {
	next, number := v.s.siblingPath(v.base, nextName), v.v.Number
	header, err := appendFirst(v.v)
	if err != nil {
		return err
	}
	to := v.s.path(v.base, number)
	switch there, err := exists(to); {
	case err != nil:
		return err
	case there:
		return damaged(to, 0, "there is a file of version %d of thread %q already", number, short(v.id))
	}
	if err := v.s.writeFile(next, header); err != nil {
		return err
	}
	// One after the other: a power cut could undo only the first of two renames.
	if err := v.move(v.path, to); err != nil {
		return err
	}
	if err := v.move(next, v.path); err != nil {
		return err
	}
	return v.reopen(int64(len(header)))
}

// writeFile creates a file, durably. It removes an existing one: that could be a link to another
// file.
func (s *Saver) writeFile(path string, b []byte) error {
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	f, err := openRegular(path, flags)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, checkpoint.ErrDamaged) {
		if err := s.remove(path); err != nil {
			return err
		}
		f, err = openRegular(path, flags)
	}
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	err = s.disk.write(f, b, 0)
	if err == nil {
		err = s.disk.sync(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.disk.syncDir(s.dir)
	}
	if err != nil {
		return fmt.Errorf("file: write %s: %w", path, err)
	}
	return nil
}

// idle locks the open version of a thread, under the folder's lock, for a call outside a run. It
// first finishes the remaining steps and checks that nobody holds the lease. It returns errAbsent
// for a thread without a file. The caller must call unlock afterwards.
func (v *volume) idle(ctx context.Context) error {
	return v.enterAs(ctx, func(busy error) error { return busy })
}

// enterAs does the same for a call that accept decides about. busy is a *BusyError if a run holds
// the lease.
func (v *volume) enterAs(ctx context.Context, accept func(busy error) error) error {
	if err := v.settleLocked(ctx); err != nil {
		return err
	}
	if err := v.lockUnder(ctx); err != nil {
		return err
	}
	var busy error
	err := v.refresh(writing)
	if err == nil {
		busy, err = v.busy(time.Now())
	}
	if err == nil {
		err = accept(busy)
	}
	if err != nil {
		v.unlock()
	}
	return err
}

// Release closes the open version, as [checkpoint.Saver] says.
func (s *Saver) Release(ctx context.Context, thread string, ifHead checkpoint.ID) (released checkpoint.Version, err error) {
	err = s.inFolder(ctx, checkpoint.Ref{Thread: thread}, func(v *volume) error {
		err := v.idle(ctx)
		if errors.Is(err, errAbsent) {
			err = ledger.NoVersion(thread, 0)
		}
		if err != nil {
			return err
		}
		defer v.unlock()
		defer s.forgetDue()
		released, err = v.release(ifHead)
		return err
	})
	return released, err
}

// release closes the open version, and renames its file to that of a released version. The caller
// must hold the locks of the folder and of the file.
func (v *volume) release(ifHead checkpoint.ID) (checkpoint.Version, error) {
	version := v.version()
	if version.Empty() {
		return checkpoint.Version{}, ledger.NoVersion(v.id, 0)
	}
	if err := version.AcceptRelease(ifHead); err != nil {
		return checkpoint.Version{}, err
	}
	if err := v.write(&ledger.Event{Releases: true, Time: ledger.Micro(time.Now())}, nil); err != nil {
		return checkpoint.Version{}, err
	}
	released := v.v.Listing()
	if err := v.lease.end(v); err != nil {
		return released, err
	}
	return released, v.retire()
}

// Delete removes a thread, as [checkpoint.Saver] says.
func (s *Saver) Delete(ctx context.Context, thread string) error {
	return s.inFolder(ctx, checkpoint.Ref{Thread: thread}, func(v *volume) error {
		err := v.idle(ctx)
		if errors.Is(err, errAbsent) {
			return nil
		}
		if errors.Is(err, checkpoint.ErrDamaged) {
			err = v.lockDamaged(ctx)
		}
		if err != nil {
			return err
		}
		defer v.unlock()
		return v.remove(ctx)
	})
}

// remove removes a thread that the caller has locked.
func (v *volume) remove(ctx context.Context) error {
	err := errors.Join(v.lease.end(v), v.s.remove(v.s.siblingPath(v.base, nextName)))
	if err == nil {
		err = v.move(v.path, v.s.siblingPath(v.base, goneName))
	}
	if err != nil {
		return err
	}
	v.drop()
	return v.erase(ctx)
}

// lockDamaged locks a file that cannot be read, to delete it. It returns a *BusyError if a run
// holds a lease.
func (v *volume) lockDamaged(ctx context.Context) error {
	leased, err := v.leasedUnread(time.Now())
	if err != nil {
		return err
	}
	if leased {
		return &checkpoint.BusyError{Thread: v.id}
	}
	return v.lockUnder(ctx)
}

// erase removes the files of a deleted thread, under the folder's lock. The oldest version goes
// first, so that the remaining ones can be found at any moment by their number.
func (v *volume) erase(ctx context.Context) error {
	path := v.s.siblingPath(v.base, goneName)
	numbers, err := v.numbers(ctx, path)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if err := v.s.remove(v.s.path(v.base, n)); err != nil {
			return err
		}
	}
	err = v.s.eachLease(v.base, removeLease)
	if err == nil {
		err = v.s.disk.syncDir(v.s.dir)
	}
	if err == nil {
		err = v.s.remove(path)
	}
	if err == nil {
		err = v.s.disk.syncDir(v.s.dir)
	}
	return err
}

// numbers returns the numbers of the existing released versions, oldest first. The file of the
// last version, at path, has the highest number. If that file cannot be read, numbers reads the
// folder.
func (v *volume) numbers(ctx context.Context, path string) ([]int, error) {
	last := v.s.newVolume(v.id, v.base, 0)
	last.path = path
	defer last.drop()
	err := last.read(ctx)
	if errors.Is(err, checkpoint.ErrDamaged) {
		return v.scanNumbers()
	}
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var numbers []int
	// Each number: after a power cut, a later version may be gone before an earlier one.
	for n := 1; n < last.v.Number; n++ {
		there, err := exists(v.s.path(v.base, n))
		if err != nil {
			return nil, err
		}
		if there {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// scanNumbers finds released versions by their names.
func (v *volume) scanNumbers() ([]int, error) {
	entries, err := os.ReadDir(v.s.dir)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		if n, ok := parseVersion(e.Name(), v.base); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// remove removes a file, if it exists.
func (s *Saver) remove(path string) error {
	if err := s.disk.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}
