//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package file

import (
	"errors"
	"os"
	"syscall"
)

// errReadOnly is the error of a file system that is mounted for reading.
var errReadOnly error = syscall.EROFS

// lockFile locks an open file, unless another opening of it has a lock. Shared locks go together.
func lockFile(f *os.File, shared bool) (locked bool, err error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}

// unlockFile ends the lock of an open file.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
