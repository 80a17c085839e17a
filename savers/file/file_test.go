package file_test

import (
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
		}
	})
}
