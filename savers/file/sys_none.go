//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package file

import (
	"errors"
	"io/fs"
	"os"
)

// openFile opens a file that only its owner can read.
func openFile(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, 0o600) }

// renameFile renames a file.
func renameFile(from, to string) error { return os.Rename(from, to) }

// removeFile removes a file.
func removeFile(path string) error { return os.Remove(path) }

// syncDir does nothing.
func syncDir(string) error { return nil }

// seal returns an error, because this system has no locks.
func seal(f *os.File, _ bool) error { return unsupported("seal", f) }

// isSealed reports false, because nothing can seal a file.
func isSealed(fs.FileInfo) bool { return false }

// othersMayWrite reports false, because the system has no owners of files.
func othersMayWrite(fs.FileInfo) bool { return false }

// outOfReach reports true: nothing says who can enter a folder.
func outOfReach(string) (bool, error) { return true, nil }

// tryLock refuses: without a lock that ends with its process, two processes could run one thread.
func tryLock(f *os.File, _ bool) (bool, error) { return false, unsupported("lock", f) }

// unlock returns an error, because this system has no locks.
func unlock(f *os.File) error { return unsupported("unlock", f) }

// unsupported returns the error of an operation that this system lacks.
func unsupported(op string, f *os.File) error {
	return &os.PathError{Op: op, Path: f.Name(), Err: errors.ErrUnsupported}
}
