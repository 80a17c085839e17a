package testenv

import (
	"errors"
	"syscall"
	"testing"
)

// SmallDisk returns a folder on a separate file system with room for 8 MB. The file system is
// removed when the test ends. ok is false if the test cannot mount one.
func SmallDisk(tb testing.TB) (dir string, ok bool) {
	tb.Helper()
	dir = tb.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return "", false
	}
	if err != nil {
		tb.Fatalf("mount: %v", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			tb.Errorf("unmount: %v", err)
		}
	})
	return dir, true
}
