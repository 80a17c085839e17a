package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// makeDir creates a folder, durably, or checks the existing one. The names of folders are synced
// from above. The deepest one that exists may be of a process that died before it synced its name.
func makeDir(dir string, share bool, d *disk) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a file; want a folder", dir)
	case err == nil:
		err = checkDir(dir, info, share)
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
		if err = makeDir(filepath.Dir(dir), true, d); err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		if errors.Is(err, fs.ErrExist) { // another process makes it, too
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return syncName(dir, d)
}

// syncName makes the name of a folder durable, in the folder above. One that this process cannot
// read was there before.
func syncName(dir string, d *disk) error {
	above, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = d.syncDir(above)
	if errors.Is(err, errReadOnly) {
		err = nil
	}
	return errors.Join(err, above.Close())
}

// checkDir refuses a folder that others may write to. A sticky folder, such as /tmp, is no better:
// others may still create the files that the Saver would open.
func checkDir(dir string, info os.FileInfo, share bool) error {
	if share || runtime.GOOS == "windows" || info.Mode().Perm()&0o022 == 0 {
		return nil
	}
	out, err := outOfReach(dir)
	if err != nil || out {
		return err
	}
	return fmt.Errorf("other users may write to the folder (mode %s), and so change threads: "+
		"chmod go-w %s, or open it with SharedFolder", info.Mode(), dir)
}

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

// path returns the path of a file of the folder.
func (s *store) path(name string) string { return filepath.Join(s.root.Name(), name) }

// openFile opens a file of the folder. It returns ErrDamaged for anything but a regular file, such
// as a symbolic link that another user has put there.
func (s *store) openFile(name string, flag int) (*os.File, error) {
	err := s.checkType(name)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || flag&os.O_CREATE == 0) {
		return nil, err
	}
	return s.root.OpenFile(name, flag, 0o600)
}

// checkType returns an error unless a file is a regular one.
func (s *store) checkType(name string) error {
	info, err := s.root.Lstat(name)
	if err != nil || info.Mode().IsRegular() {
		return err
	}
	return fmt.Errorf("%s is of type %s, want a regular file: %w; remove it", s.path(name), info.Mode().Type(), checkpoint.ErrDamaged)
}
