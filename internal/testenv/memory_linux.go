package testenv

import (
	"os"
	"syscall"
)

// TempInMemory puts the temporary folders of this process and of its children into memory, where the system has a file
// system for that with enough room. What a process wrote there outlives the process, as on a disk, and a sync takes no
// time. A TMPDIR that is set stays. TestMain calls it before anything else.
func TempInMemory() {
	const dir, tmpfs, room = "/dev/shm", 0x01021994, 1 << 30
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	if err != nil || fs.Type != tmpfs || fs.Bavail*uint64(fs.Bsize) < room { //nolint:gosec // a size is positive
		return
	}
	if probe, err := os.MkdirTemp(dir, ""); err != nil || os.Remove(probe) != nil || os.Getenv("TMPDIR") != "" {
		return // this user may not write there, or has a place
	}
	_ = os.Setenv("TMPDIR", dir)
}
