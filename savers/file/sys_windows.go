package file

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

// Package syscall does not have these calls. With package golang.org/x/sys, programs would have
// one more module.
var (
	kernel32 = syscall.NewLazyDLL("kernel32.dll")
	lockEx   = kernel32.NewProc("LockFileEx")
	unlockEx = kernel32.NewProc("UnlockFileEx")
)

const (
	failImmediately               = 1
	exclusive                     = 2
	lockViolation   syscall.Errno = 33
)

// errReadOnly is the error of a file that can only be read.
var errReadOnly = fs.ErrPermission

// lockFile locks the first byte of an open file, unless another opening of it has a lock. Shared
// locks go together.
func lockFile(f *os.File, shared bool) (locked bool, err error) {
	var at syscall.Overlapped
	how := uintptr(failImmediately | exclusive)
	if shared {
		how = failImmediately
	}
	ok, _, err := lockEx.Call(f.Fd(), how, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, lockViolation), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	}
	return false, err
}

// unlockFile ends the lock of an open file.
func unlockFile(f *os.File) error {
	var at syscall.Overlapped
	if ok, _, err := unlockEx.Call(f.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(&at))); ok == 0 {
		return err
	}
	return nil
}
