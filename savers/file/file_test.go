package file_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestConformance(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return file.Open(dir) },
		}
	})
}
