package proof_test

import (
	"errors"
	"syscall"
	"testing"
)

// smallDisk returns a folder with room for 8 MB, a file system of its own, where the system lets the test have one.
func smallDisk(t *testing.T) (dir string, mounted bool) {
	t.Helper()
	dir = t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return "", false
	}
	if err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir, true
}
