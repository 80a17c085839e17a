package file

import (
	"errors"
	"io/fs"
	"os"
)

// lock is a file of the folder that at most one Saver has locked. The lock ends with the process
// at the latest. The file stays open, and is empty.
type lock struct {
	name string
	f    *os.File // nil before the first try
	info os.FileInfo
}

// tryLock locks a file if nobody else has. If somebody has removed or replaced the file, it locks
// the one that has the name now.
func (s *store) tryLock(l *lock) (locked bool, err error) {
	for {
		if err := s.openLock(l); err != nil {
			return false, err
		}
		locked, err := lockFile(l.f)
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
