package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/savertest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func TestConformance(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "threads.db")
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return sqlite.Open(path) },
			Damage: func(string) error { return execute(path, "UPDATE graph_write SET data = x'7f'") },
		}
	})
}
