package temporal_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// BenchmarkEngine has the threads in SQLite.
func BenchmarkEngine(b *testing.B) {
	addr := testenv.Temporal(b)
	s, err := sqlite.Open(filepath.Join(b.TempDir(), "a.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	enginetest.Benchmark(b, enginetest.Place{Open: func(tb testing.TB) worker.Engine {
		tb.Helper()
		return open(tb, addr, "bench")
	}}, s)
}

// BenchmarkTemporal is the baseline. It measures the time from the start of a workflow of
// Temporal to the beginning of its first activity. The time of an operation is that of the whole
// workflow.
func BenchmarkTemporal(b *testing.B) {
	c := connect(b, testenv.Temporal(b))
	began := make(chan time.Time, 1)
	w := sdkworker.New(c, "own", sdkworker.Options{})
	w.RegisterActivityWithOptions(func(context.Context) error {
		began <- time.Now()
		return nil
	}, activity.RegisterOptions{Name: "step"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		return workflow.ExecuteActivity(ctx, "step").Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "one"})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		run, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: "own"}, "one")
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-began).Sub(start))
		if err := run.Get(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[(len(took)-1)*99/100].Microseconds()), "p99-µs")
}
