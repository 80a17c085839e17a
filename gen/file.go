package gen

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
)

// File is one generated file as it should be.
type File struct {
	Path    string // absolute
	Content []byte
	Orphan  bool // written by graphgen once, for types that are gone or no longer ask for it: it should not exist
}

// Write makes the file on disk what it should be and reports whether that changed anything. It writes a temporary file
// beside it and renames, so that a reader never sees half of it. It leaves an orphan alone: to delete a file
// is the user's to decide.
func (f File) Write() (changed bool, err error) {
	if f.Orphan {
		return false, nil
	}
	old, err := os.ReadFile(f.Path)
	if err == nil && bytes.Equal(old, f.Content) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("gen: %w", err)
	}
	if err := writeFile(f.Path, f.Content); err != nil {
		return false, fmt.Errorf("gen: write %s: %w", f.Path, err)
	}
	return true, nil
}

// writeFile replaces path by a file of mode 0644 with content.
func writeFile(path string, content []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Diff returns what Write would change as a unified diff with paths relative to dir, and nil when the file is
// as it should be. For an orphan it is the diff that deletes it.
func (f File) Diff(dir string) ([]byte, error) {
	old, err := os.ReadFile(f.Path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, fmt.Errorf("gen: %w", err)
	}
	name := filepath.ToSlash(relative(dir, f.Path))
	switch {
	case f.Orphan:
		return diff.Diff(name, old, "/dev/null", nil), nil
	case missing:
		return diff.Diff("/dev/null", nil, name, f.Content), nil
	}
	return diff.Diff(name, old, name+" (generated)", f.Content), nil
}
