package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// A stopped process keeps the lock of a thread's file. Another process then replaces the file in
// three steps under the folder's lock:
//
// - it seals the file, so that no later write to it is acknowledged
// - it copies the whole frames to a new file
// - it gives the new file the name of the old one
//
// After each write, and before the call returns, a writer checks that the file was neither sealed
// nor replaced. If it was, the writer repeats the call on the new file, where the fence and the
// head decide.

// stuck is how long a lock may be held without a change of its file before its holder counts as
// stopped. A holder that was only slow repeats its call.
const stuck = 2 * time.Second

// errReplaced says that a file was sealed or replaced: the call on it does not count.
var errReplaced = errors.New("file: the thread's file was replaced")

// errStuck says that the lock of a file does not become free.
var errStuck = errors.New("file: the thread's file is locked by a process that does nothing")

// standing reports whether the open file still has its name, and whether it is sealed.
func (v *volume) standing() (same, isSealed bool, err error) {
	now, err := factsAt(v.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("file: %w", err)
	}
	mine := v.h.facts
	if !nameTells {
		if mine, err = factsOf(v.h.File); err != nil {
			return false, false, fmt.Errorf("file: %w", err)
		}
		now.size, now.sealed = mine.size, mine.sealed
	}
	v.found = now.size
	return mine.same(now), now.sealed, nil
}

// current reports whether the open file still has its name.
func (v *volume) current() (bool, error) {
	same, _, err := v.standing()
	return same, err
}

// confirm returns errReplaced unless the reads and writes under the lock count.
func (v *volume) confirm() error {
	same, isSealed, err := v.standing()
	if err == nil && (!same || isSealed) {
		err = errReplaced
	}
	return err
}

// counting repeats a call as long as its file is replaced meanwhile.
func (v *volume) counting(call func() error) error {
	for {
		err := call()
		if !errors.Is(err, errReplaced) {
			return err
		}
		v.drop()
	}
}

// wait locks the file and waits for other holders until ctx ends. It returns errReplaced if
// another file has the name, and errStuck if the holder of the lock makes no progress.
func (v *volume) wait(ctx context.Context) error {
	var last os.FileInfo
	var since time.Time
	return poll(ctx, v.h.File, func() error {
		info, err := os.Lstat(v.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errReplaced
		case err != nil:
			return fmt.Errorf("file: %w", err)
		case last == nil:
			mine, err := v.h.Stat()
			if err != nil {
				return fmt.Errorf("file: %w", err)
			}
			last, since = mine, time.Now()
		}
		switch {
		case !os.SameFile(info, last):
			return errReplaced
		case info.Size() != last.Size() || !info.ModTime().Equal(last.ModTime()):
			last, since = info, time.Now()
		case time.Since(since) >= stuck:
			return errStuck
		}
		return nil
	})
}

// unblock makes a stuck or sealed file usable again. It needs the folder's lock.
func (v *volume) unblock() error {
	same, isSealed, err := v.standing()
	if err != nil {
		return err
	}
	if !same {
		v.drop()
		return nil
	}
	ok, err := tryLock(v.h.File, true)
	switch {
	case err != nil:
		return fmt.Errorf("file: %w", err)
	case !ok:
		return v.replace()
	}
	v.locked = true
	if isSealed { // nobody is writing to the file or replacing it
		err = seal(v.h.File, false)
	}
	v.unlock()
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}

// replace puts a copy of the whole frames in the place of a file whose lock another process
// keeps.
func (v *volume) replace() error {
	if err := seal(v.h.File, true); err != nil {
		return fmt.Errorf("file: %w", err)
	}
	f, err := v.s.newBuilding()
	if err != nil {
		return err
	}
	if err = v.copyTo(f); err == nil {
		err = v.move(f.Name(), v.path)
	}
	if err != nil {
		return errors.Join(err, f.Close(), v.s.remove(f.Name()))
	}
	v.drop()
	return f.Close() // it is synced
}

// copyTo copies the whole frames to a file, durably.
func (v *volume) copyTo(f *os.File) error {
	b, size := make([]byte, batch), int64(0)
	for {
		n, err := v.h.ReadAt(b, size)
		if n > 0 {
			if err := v.s.disk.write(f, b[:n], size); err != nil {
				return fmt.Errorf("file: write %s: %w", f.Name(), err)
			}
			size += int64(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("file: read %s: %w", v.path, err)
		}
	}
	written := v.s.newVolume(v.id, v.base, 0)
	written.h = (&handle{File: f}).share()
	if err := written.refresh(reading); err != nil {
		return err
	}
	err := v.s.disk.truncate(f, written.end)
	if err == nil {
		err = v.s.disk.sync(f)
	}
	if err != nil {
		return fmt.Errorf("file: write %s: %w", f.Name(), err)
	}
	return nil
}
