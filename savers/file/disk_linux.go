package file

import (
	"errors"
	"os"
	"syscall"
)

// syncFile makes durable what a file holds, and its size.
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

// extendFile makes a file larger, by zeros, with room for them on the disk.
func extendFile(f *os.File, from, to int64) error {
	if err := syscall.Fallocate(int(f.Fd()), 0, from, to-from); err != nil {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}
