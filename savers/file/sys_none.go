//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package file

import (
	"errors"
	"io/fs"
	"os"
)

// errReadOnly is the error of a file that can only be read.
var errReadOnly = fs.ErrPermission

// lockFile returns an error. Without a lock that ends with its process, two processes could write.
func lockFile(*os.File, bool) (bool, error) { return false, errors.ErrUnsupported }

// unlockFile returns an error, because this system has no locks.
func unlockFile(*os.File) error { return errors.ErrUnsupported }
