package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// lock is a file of the folder that at most one Saver has locked, or any number of them if it is
// shared. The lock ends with the process at the latest. The file stays open, and is empty.
type lock struct {
	name   string
	shared bool
	f      *os.File // nil before the first try
	info   os.FileInfo
}

// tryLock locks a file if nobody else has. If somebody has removed or replaced the file, it locks
// the one that has the name now.
func (s *store) tryLock(l *lock) (locked bool, err error) {
	for {
		if err := s.openLock(l); err != nil {
			return false, err
		}
		locked, err := lockFile(l.f, l.shared)
		if err != nil {
			return false, &os.PathError{Op: "lock", Path: l.f.Name(), Err: err}
		}
		now, err := s.root.Lstat(l.name)
		if err == nil && os.SameFile(now, l.info) {
			return locked, nil
		}
		if closed := l.close(); closed != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, errors.Join(err, closed)
		}
	}
}

// openLock opens the file of a lock, unless it is open.
func (s *store) openLock(l *lock) (err error) {
	if l.f != nil {
		return nil
	}
	if l.f, err = s.openFile(l.name, os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	if l.info, err = l.f.Stat(); err != nil {
		return errors.Join(err, l.close())
	}
	return nil
}

// unlock ends a lock.
func (l *lock) unlock() error {
	if err := unlockFile(l.f); err != nil {
		return errors.Join(&os.PathError{Op: "unlock", Path: l.f.Name(), Err: err}, l.close())
	}
	return nil
}

// close closes the file of a lock, which ends the lock.
func (l *lock) close() error {
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// arrive locks open.lock, alone if no other Saver has the folder open. Otherwise it shares the
// lock with the others. On a system without locks, and in a folder that can only be read, it notes
// why the Saver cannot write.
func (s *store) arrive() (alone bool, err error) {
	alone, err = s.tryLock(&s.open)
	if err == nil && !alone {
		err = s.share()
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnly) || errors.Is(err, errors.ErrUnsupported) {
		s.absent, err = err, nil
	}
	return alone, err
}

// admit lets other Savers open the folder that this one has alone.
func (s *store) admit() error { return errors.Join(s.open.unlock(), s.share()) }

// mostArriving bounds how long share waits for a Saver that has the folder alone. That takes
// milliseconds, unless its process is stopped.
const mostArriving = 10 * time.Second

// share locks open.lock together with others, for as long as the Saver is open.
func (s *store) share() error {
	s.open.shared = true
	ctx, cancel := context.WithTimeout(context.Background(), mostArriving)
	defer cancel()
	if err := s.poll(ctx, &s.open); err != nil {
		return fmt.Errorf("wait for another process that opens the folder: %w", err)
	}
	return nil
}
