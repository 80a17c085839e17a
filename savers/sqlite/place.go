package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// place makes the file at path unless it exists, for its owner alone. SQLite gives its other files
// the same mode. place never makes a file through a symbolic link, nor for ReadOnly. Without
// SharedFolder it refuses files and folders that everybody may write to.
func place(path string, o *options) error {
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder of the file does not exist; create the folder first: %w", err)
	}
	if err := makeFile(path, o.Mode == sqlsaver.ReadOnly); err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("the path is a symbolic link to no file; create the file, or remove the link: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("the path is a folder; name a file in the folder")
	case !info.Mode().IsRegular():
		return fmt.Errorf("the path is no regular file: mode %v", info.Mode())
	}
	if err := noLinks(path); err != nil || o.shared {
		return err
	}
	if err := private(path, info); err != nil {
		return err
	}
	dir = filepath.Dir(path)
	if info, err = os.Stat(dir); err != nil {
		return err
	}
	return private(dir, info)
}

// makeFile makes the file at path unless it exists. With must it has to exist.
func makeFile(path string, must bool) error {
	if must {
		if _, err := os.Lstat(path); err != nil {
			return fmt.Errorf("there is no file to read; name one that a saver has made: %w", err)
		}
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the file: %w", err)
	}
	return nil
}

// noLinks refuses symbolic links where SQLite keeps its other files: it would follow them.
func noLinks(path string) error {
	for _, name := range [...]string{path + "-wal", path + "-shm", path + "-journal"} {
		if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link, through which SQLite would write; remove it", name)
		}
	}
	return nil
}

// private refuses a file or folder that everybody may write to.
func private(path string, info fs.FileInfo) error {
	if runtime.GOOS == "windows" || info.Mode().Perm()&0o002 == 0 { // modes there say nothing of who may write
		return nil
	}
	return fmt.Errorf("everybody may write to %s, mode %v, and so change what threads hold: chmod o-w, or open with SharedFolder", path, info.Mode())
}
