package enginetest_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// deaf is an engine that sends no hint.
type deaf struct{ *worker.Hub }

func (deaf) Wake(context.Context, string, string) error { return nil }

func BenchmarkHub(b *testing.B) {
	hub := new(worker.Hub)
	s := openSQLite(b)
	place := enginetest.Place{Open: func(testing.TB) worker.Engine { return hub }}
	enginetest.Benchmark(b, place, s)
}

// BenchmarkPolling has a worker without an engine.
func BenchmarkPolling(b *testing.B) {
	place := enginetest.Place{Open: func(testing.TB) worker.Engine { return deaf{new(worker.Hub)} }}
	enginetest.BenchmarkSubmit(b, place, openSQLite(b), 1, time.Second)
}

func openSQLite(b *testing.B) *sqlite.Saver {
	b.Helper()
	s, err := sqlite.Open(filepath.Join(b.TempDir(), "a.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}
