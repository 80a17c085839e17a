package file_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/rows/rowstest"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

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

func TestStore(t *testing.T) {
	rowstest.Run(t, func(tb testing.TB) rows.Store {
		tb.Helper()
		s, err := file.OpenStore(tb.TempDir())
		if err != nil {
			tb.Fatal(err)
		}
		return s
	})
}

func TestConformance(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return file.Open(dir) },
			Damage: func(thread string) error { return file.DamageRow(dir, thread) },
			Alter: func(tb testing.TB, stored, altered []byte) int {
				tb.Helper()
				return alter(tb, dir, stored, altered)
			},
		}
	})
}
