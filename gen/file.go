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

// File is the intended content of one generated file.
type File struct {
	Path    string // absolute
	Content []byte

	States   []string // the types in it that have an update type and a schema
	Payloads []string // the types in it that have AppendWire and DecodeWire
	Unions   []string // the interfaces in it whose codec is exported

	Lock   bool // a lock file
	Orphan bool // generated for types that no longer exist or no longer request it; the file should be deleted
}

// Write writes the file to disk and reports whether that changed anything. It replaces the file
// atomically, keeps its mode, and follows symbolic links. It fails if graphgen did not generate
// the file on disk, or if that file is read-only. It does not delete an orphan: the user decides
// about it.
func (f File) Write() (changed bool, err error) {
	if f.Orphan {
		return false, nil
	}
	if why := overwriting(f.Path, f.ours); why != nil {
		return false, fmt.Errorf("gen: %s %w", f.Path, why)
	}
	path, mode := f.Path, fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return false, fmt.Errorf("gen: %w", err)
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return false, fmt.Errorf("gen: %w", err)
		}
		if bytes.Equal(unixLines(old), f.Content) {
			return false, nil
		}
		if mode&0o200 == 0 {
			return false, fmt.Errorf("gen: %s is read-only and out of date; make it writable", f.Path)
		}
	}
	if err := writeFile(path, mode, f.Content); err != nil {
		return false, fmt.Errorf("gen: write %s: %w", f.Path, err)
	}
	return true, nil
}

// ours reports whether graphgen wrote a file of this kind with this content.
func (f File) ours(content []byte) bool {
	if f.Lock {
		return bytes.HasPrefix(content, []byte(LockName+" "))
	}
	return isOutput(content)
}

// unixLines returns content with the line ends that graphgen writes, because git may check out a
// file with others.
func unixLines(content []byte) []byte { return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")) }

// writeFile replaces path by a file with content.
func writeFile(path string, mode fs.FileMode, content []byte) (err error) {
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
		err = tmp.Chmod(mode)
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Diff returns the changes that Write would make as a unified diff with paths relative to dir. It
// returns nil if the file is up to date. For an orphan it returns the diff that deletes the file.
func (f File) Diff(dir string) ([]byte, error) {
	old, err := os.ReadFile(f.Path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, fmt.Errorf("gen: %w", err)
	}
	old = unixLines(old)
	name := filepath.ToSlash(relative(dir, f.Path))
	switch {
	case f.Orphan:
		return diff.Diff(name, old, "/dev/null", nil), nil
	case missing:
		return diff.Diff("/dev/null", nil, name, f.Content), nil
	}
	return diff.Diff(name, old, name+" (generated)", f.Content), nil
}
