//go:build !linux

package file

import (
	"io/fs"
	"os"
)

// facts is what the saver asks of a file before and after each write.
type facts struct {
	info os.FileInfo
	size int64
	perm fs.FileMode
}

// factsOf returns the facts of an open file.
func factsOf(f *os.File) (facts, error) { return factsFrom(f.Stat()) }

// factsAt returns the facts of the file of a name. It follows no symbolic link.
func factsAt(path string) (facts, error) { return factsFrom(os.Lstat(path)) }

func factsFrom(info os.FileInfo, err error) (facts, error) {
	if err != nil {
		return facts{}, err
	}
	return facts{info, info.Size(), info.Mode().Perm()}, nil
}

// same reports whether both are of one file.
func (f facts) same(g facts) bool { return os.SameFile(f.info, g.info) }
