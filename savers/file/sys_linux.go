package file

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// syncFile makes the data and the size of a file durable.
func syncFile(f *os.File) error {
	for {
		switch err := syscall.Fdatasync(int(f.Fd())); {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EINTR):
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

// extendFile enlarges a file with zeros and reserves space for them on the disk.
func extendFile(f *os.File, from, to int64) error {
	if err := syscall.Fallocate(int(f.Fd()), 0, from, to-from); err != nil {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}

// facts is what the saver asks of a file before and after each write. It omits the time of the
// last change on purpose. On Linux 6.13 and later, asking for that time gives the next write a
// separate time. Its sync must then write the inode too.
type facts struct {
	major, minor uint32
	inode        uint64
	size         int64
	sealed       bool
}

const factsMask = unix.STATX_INO | unix.STATX_SIZE | unix.STATX_TYPE | unix.STATX_MODE

// nameTells says that factsAt returns what factsOf does if the name is that of the open file.
const nameTells = true

// factsOf returns the facts of an open file.
func factsOf(f *os.File) (facts, error) {
	return statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, func() (os.FileInfo, error) { return f.Stat() })
}

// factsAt returns the facts of the file at a path. It follows no symbolic link.
func factsAt(path string) (facts, error) {
	return statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, func() (os.FileInfo, error) { return os.Lstat(path) })
}

// statx falls back to stat if the system call is missing or forbidden.
func statx(dir int, path string, flags int, stat func() (os.FileInfo, error)) (facts, error) {
	var x unix.Statx_t
	for {
		err := unix.Statx(dir, path, flags, factsMask, &x)
		switch {
		case err == nil:
			return facts{x.Dev_major, x.Dev_minor, x.Ino, int64(x.Size), fs.FileMode(x.Mode)&fs.ModePerm == sealedMode}, nil
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
			return factsFrom(stat())
		case !errors.Is(err, unix.EINTR):
			return facts{}, &os.PathError{Op: "statx", Path: path, Err: err}
		}
	}
}

// factsFrom returns what identifies a file, from the result of a Stat.
func factsFrom(info os.FileInfo, err error) (facts, error) {
	if err != nil {
		return facts{}, err
	}
	known, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return facts{}, &os.PathError{Op: "stat", Path: info.Name(), Err: errors.ErrUnsupported}
	}
	//nolint:unconvert // Dev has another type on some systems
	return facts{unix.Major(uint64(known.Dev)), unix.Minor(uint64(known.Dev)), known.Ino, info.Size(), isSealed(info)}, nil
}

// same reports whether both are of one file.
func (f facts) same(g facts) bool {
	return f.inode == g.inode && f.major == g.major && f.minor == g.minor
}
