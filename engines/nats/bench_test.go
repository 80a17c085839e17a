package nats_test

import (
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	graphgennats "github.com/graphgen-go/graphgen/engines/nats"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// BenchmarkEngine has the threads in SQLite.
func BenchmarkEngine(b *testing.B) {
	p := startServer(b)
	s, err := sqlite.Open(filepath.Join(b.TempDir(), "a.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	enginetest.Benchmark(b, enginetest.Place{Open: func(tb testing.TB) worker.Engine {
		tb.Helper()
		return graphgennats.NewEngine(p.connect(tb), "graphgen")
	}}, s)
}
