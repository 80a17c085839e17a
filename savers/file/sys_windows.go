package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Package os opens files on Windows so that nobody can rename or remove them while they are open,
// except by an [os.Root]. A Root also renames and removes as POSIX does: an open file keeps its
// data, and its name is free.

// inRoot calls f with the folder of a path and the name of the file in it.
func inRoot(path string, f func(folder *os.Root, name string) error) error {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(f(folder, filepath.Base(path)), folder.Close())
}

// openFile opens a file so that it can be renamed, replaced and removed while it is open.
func openFile(path string, flag int) (f *os.File, err error) {
	err = inRoot(path, func(folder *os.Root, name string) (err error) {
		f, err = folder.OpenFile(name, flag, 0o600)
		return err
	})
	return f, err
}

// renameFile renames a file and replaces the file of that name, which may be open. Both are in
// one folder, or one of the two folders contains the other.
func renameFile(from, to string) error {
	above := filepath.Dir(to)
	if len(filepath.Dir(from)) < len(above) {
		above = filepath.Dir(from)
	}
	src, err := filepath.Rel(above, from)
	if err != nil {
		return err
	}
	dst, err := filepath.Rel(above, to)
	if err != nil {
		return err
	}
	folder, err := os.OpenRoot(above)
	if err != nil {
		return err
	}
	return errors.Join(folder.Rename(src, dst), folder.Close())
}

// removeFile removes a file, which may be open.
func removeFile(path string) error {
	return inRoot(path, func(folder *os.Root, name string) error { return folder.Remove(name) })
}

// syncDir does nothing: Windows has no such call. The journal of NTFS keeps the order of renames.
func syncDir(string) error { return nil }

// sealedMark is the attribute of a sealed file. It has no other effect, and new files do not have
// it.
const sealedMark = windows.FILE_ATTRIBUTE_SYSTEM

// seal marks an open file as sealed, or removes the mark.
func seal(f *os.File, sealed bool) error {
	info := struct { // FILE_BASIC_INFO; a time of 0 leaves the time
		times      [4]int64
		attributes uint32
		_          uint32
	}{attributes: windows.FILE_ATTRIBUTE_NORMAL}
	if sealed {
		info.attributes = sealedMark
	}
	err := windows.SetFileInformationByHandle(windows.Handle(f.Fd()), windows.FileBasicInfo,
		(*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return &os.PathError{Op: "seal", Path: f.Name(), Err: err}
	}
	return nil
}

// isSealed reports whether a file is marked as sealed.
func isSealed(info fs.FileInfo) bool {
	known, ok := info.Sys().(*syscall.Win32FileAttributeData)
	return ok && known.FileAttributes&sealedMark != 0
}

// othersMayWrite reports false: the mode of a folder does not say who may write to it.
func othersMayWrite(fs.FileInfo) bool { return false }

// outOfReach reports true: nothing says who can enter a folder.
func outOfReach(string) (bool, error) { return true, nil }

// A lock of Windows stops others from reading and writing the locked bytes. So the saver locks a
// byte that no file has. Package gofrs/flock locks the first byte of a file that it opens itself,
// which would stop readers.

// lockedByte is the offset of the byte that is locked, in two halves.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{Offset: 0, OffsetHigh: 1 << 30} }

// tryLock locks an open file, against all other openings if exclusive. It reports whether it did:
// false if another opening has the lock. The lock ends with the process at the latest.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	switch err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedByte()); {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	default:
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
}

// unlock gives up the lock of a file.
func unlock(f *os.File) error {
	if err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte()); err != nil {
		return &os.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}
