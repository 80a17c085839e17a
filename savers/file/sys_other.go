//go:build !linux

package file

import (
	"errors"
	"os"
)

// syncFile makes the data and the size of a file durable.
func syncFile(f *os.File) error { return f.Sync() }

// extendFile does nothing here: only Linux saves time by it.
func extendFile(*os.File, int64, int64) error { return errors.ErrUnsupported }

// facts is what the saver asks of a file before and after each write.
type facts struct {
	info   os.FileInfo
	size   int64
	sealed bool
}

// nameTells says that factsAt returns what factsOf does if the name is that of the open file. On
// Windows the facts of a name can be out of date.
const nameTells = false

// factsOf returns the facts of an open file.
func factsOf(f *os.File) (facts, error) { return factsFrom(f.Stat()) }

// factsAt returns the facts of the file at a path. It follows no symbolic link.
func factsAt(path string) (facts, error) { return factsFrom(os.Lstat(path)) }

// factsFrom returns what identifies a file, from the result of a Stat.
func factsFrom(info os.FileInfo, err error) (facts, error) {
	if err != nil {
		return facts{}, err
	}
	return facts{info, info.Size(), isSealed(info)}, nil
}

// same reports whether both are of one file.
func (f facts) same(g facts) bool { return os.SameFile(f.info, g.info) }
