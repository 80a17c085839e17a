//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// noFollow makes opening a symbolic link fail.
const noFollow = syscall.O_NOFOLLOW

// othersMayWrite reports whether a folder's group, or everybody, may create files in it. A sticky folder, such as /tmp,
// is no better: others may still create what the Saver would open.
func othersMayWrite(folder fs.FileInfo) bool { return folder.Mode().Perm()&0o022 != 0 }

// outOfReach reports whether a folder is in one that only its owner can enter, such as the temporary folder of a test.
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
