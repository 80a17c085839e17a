package file_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// flip flips a bit of the byte at an offset of a file.
func flip(path string, at int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[at] ^= 1
	return os.WriteFile(path, b, 0o600)
}

// alter replaces bytes in all files of a folder.
func alter(tb testing.TB, dir string, stored, altered []byte) (places int) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if n := bytes.Count(b, stored); err == nil && n > 0 {
			places += n
			err = os.WriteFile(path, bytes.ReplaceAll(b, stored, altered), 0o600)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return places
}

func TestConformance(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return file.Open(dir) },
			Damage: func(thread string) error {
				return flip(filepath.Join(dir, file.BaseName(thread)+".saver"), len(file.FileOf(thread))+20)
			},
			Alter: func(tb testing.TB, stored, altered []byte) int {
				tb.Helper()
				return alter(tb, dir, stored, altered)
			},
		}
	})
}
