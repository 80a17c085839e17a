//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package file

import (
	"errors"
	"io/fs"
	"os"
)

func openFile(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, 0o600) }

func renameFile(from, to string) error { return os.Rename(from, to) }

func removeFile(path string) error { return os.Remove(path) }

func syncDir(string) error { return nil }

func seal(f *os.File, _ bool) error { return unsupported("seal", f) }

func isSealed(fs.FileInfo) bool { return false }

func othersMayWrite(fs.FileInfo) bool { return false }

func outOfReach(string) (bool, error) { return true, nil }

// tryLock refuses: without a lock that ends with its process, two processes could run one thread.
func tryLock(f *os.File, _ bool) (bool, error) { return false, unsupported("lock", f) }

func unlock(f *os.File) error { return unsupported("unlock", f) }

func unsupported(op string, f *os.File) error {
	return &os.PathError{Op: op, Path: f.Name(), Err: errors.ErrUnsupported}
}
