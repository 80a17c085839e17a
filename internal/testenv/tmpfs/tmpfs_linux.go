package tmpfs

import (
	"os"
	"syscall"
)

// InMemory moves the temporary folders of this process and its children to a file system in
// memory, if there is one with enough room. Files there outlive the process, as on a disk, and
// syncing takes no time. A TMPDIR that is already set is kept. TestMain calls InMemory first.
func InMemory() {
	const dir, tmpfs, room = "/dev/shm", 0x01021994, 1 << 30
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	if err != nil || fs.Type != tmpfs || fs.Bavail*uint64(fs.Bsize) < room { //nolint:gosec // a size is positive
		return
	}
	if probe, err := os.MkdirTemp(dir, ""); err != nil || os.Remove(probe) != nil || os.Getenv("TMPDIR") != "" {
		return // this user cannot write there, or TMPDIR is set
	}
	_ = os.Setenv("TMPDIR", dir)
}
