//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openFile opens a file with a mode for its own user. It follows no symbolic link.
func openFile(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, flag|syscall.O_NOFOLLOW, 0o600)
}

// renameFile renames a file and replaces the file of that name, which may be open.
func renameFile(from, to string) error { return os.Rename(from, to) }

// removeFile removes a file, which may be open.
func removeFile(path string) error { return os.Remove(path) }

// syncDir makes the names in a folder durable. Some file systems cannot and say so; syncDir
// ignores that error.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// unsealedMode and sealedMode are the modes of a file. The mode stays with the file when the file
// is renamed.
const (
	unsealedMode fs.FileMode = 0o600
	sealedMode   fs.FileMode = 0o700
)

// seal marks an open file as sealed, or removes the mark.
func seal(f *os.File, sealed bool) error {
	if sealed {
		return f.Chmod(sealedMode)
	}
	return f.Chmod(unsealedMode)
}

// isSealed reports whether a file is marked as sealed.
func isSealed(info fs.FileInfo) bool { return info.Mode().Perm() == sealedMode }

// othersMayWrite reports whether a folder's group, or everybody, may create files in it. A sticky
// folder, such as /tmp, is no better: others may still create the files that the Saver would
// open.
func othersMayWrite(folder fs.FileInfo) bool { return folder.Mode().Perm()&0o022 != 0 }

// outOfReach reports whether a folder is inside one that only its owner can enter, such as the
// temporary folder of a test.
func outOfReach(dir string) (bool, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, err
	}
	for above := filepath.Dir(dir); above != dir; dir, above = above, filepath.Dir(above) {
		info, err := os.Stat(above)
		if err != nil {
			return false, err
		}
		if info.Mode().Perm()&0o011 == 0 {
			return true, nil
		}
	}
	return false, nil
}

// tryLock locks an open file, against all other openings if exclusive. It reports whether it did:
// false if another opening has the lock. The lock ends with the process at the latest.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := syscall.LOCK_SH | syscall.LOCK_NB
	if exclusive {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

// unlock gives up the lock of a file.
func unlock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		return &os.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}
