package file

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// makeDir creates the folder, durably, or checks the existing one.
func (s *Saver) makeDir() error {
	info, err := os.Stat(s.dir)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a file; want a folder", s.dir)
	case err == nil:
		return s.checkDir(info)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return s.disk.syncDir(filepath.Dir(s.dir))
}

// checkDir refuses a folder that others may write to. It also refuses a subfolder that is a link.
func (s *Saver) checkDir(info os.FileInfo) error {
	for _, name := range [...]string{building, leases} {
		if err := checkType(filepath.Join(s.dir, name), fs.ModeDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if s.share || !othersMayWrite(info) {
		return nil
	}
	out, err := outOfReach(s.dir)
	if err != nil || out {
		return err
	}
	return fmt.Errorf("other users may write to the folder (mode %s), and so change threads: "+
		"chmod go-w %s, or open it with SharedFolder", info.Mode(), s.dir)
}

// makeBelow creates a subfolder of the folder if there is none.
func (s *Saver) makeBelow(name string) error {
	dir := filepath.Join(s.dir, name)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = checkType(dir, fs.ModeDir)
	}
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}

// openRegular opens a file of the folder. It returns ErrDamaged for anything but a regular file.
// It follows no symbolic link, because another user may have put it there to have another file
// read or changed.
func openRegular(path string, flag int) (*os.File, error) {
	err := checkType(path, 0)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || flag&os.O_CREATE == 0) {
		return nil, err
	}
	return openFile(path, flag)
}

// newFile creates a file in a folder, under a name that no other file has.
func newFile(dir, before, after string) (*os.File, error) {
	for {
		f, err := openFile(filepath.Join(dir, before+rand.Text()+after), os.O_RDWR|os.O_CREATE|os.O_EXCL)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// checkType returns an error unless a file has the type want. The zero type is a regular file.
func checkType(path string, want fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() == want {
		return err
	}
	return fmt.Errorf("%s is of type %s, want %s: %w; remove it", path, typeName(info.Mode()), typeName(want), checkpoint.ErrDamaged)
}

// typeName returns what errors call a file of a mode, such as "symbolic link".
func typeName(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	}
	return mode.Type().String()
}
