//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package file

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock that ends with its process, two processes could run one thread.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	return false, &os.PathError{Op: "lock", Path: f.Name(), Err: errors.ErrUnsupported}
}

func unlock(f *os.File) error {
	return &os.PathError{Op: "unlock", Path: f.Name(), Err: errors.ErrUnsupported}
}
