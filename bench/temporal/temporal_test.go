package temporal

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// Each round has this number of threads. At most slots of their steps run at the same time.
const threads, slots = 32, 16

// BenchmarkThreads runs three steps that do nothing: as threads of three nodes, as workflows of
// three activities, and as workflows of three local activities. All are submitted before the round
// begins. Both sides store every step in an SQLite file. The sides take turns.
func BenchmarkThreads(b *testing.B) {
	server := testenv.StartTemporal(b, true)
	c, err := client.Dial(client.Options{
		HostPort: server.Addr,
		Logger:   sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), //nolint:forbidigo // it is silent
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	sides := []struct {
		name string
		run  func(round int) time.Duration
		took time.Duration
	}{
		{name: "graphgen", run: newGraphgen(b)},
		{name: "activities", run: newTemporal(b, c, "activities", func(ctx workflow.Context) workflow.Future {
			return workflow.ExecuteActivity(ctx, "step")
		})},
		{name: "local-activities", run: newTemporal(b, c, "local", func(ctx workflow.Context) workflow.Future {
			return workflow.ExecuteLocalActivity(ctx, step)
		})},
	}
	for round := range b.N {
		for i := range sides {
			sides[i].took += sides[i].run(round)
		}
	}
	for _, s := range sides {
		b.ReportMetric(float64(b.N*threads)/s.took.Seconds(), s.name+"-threads/s")
		b.ReportMetric(s.took.Seconds()/sides[0].took.Seconds(), s.name+"-ratio")
	}
}

func step(context.Context) error { return nil }

// newGraphgen returns a function that measures one round of threads.
func newGraphgen(b *testing.B) func(round int) time.Duration {
	b.Helper()
	saver, err := sqlite.Open(filepath.Join(b.TempDir(), "threads.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = saver.Close() })
	node := func(ctx context.Context, _ flow.Conversation) (flow.ConversationUpdate, error) {
		return flow.ConversationUpdate{}, step(ctx)
	}
	g := graph.New("three", flow.ConversationSchema)
	g.Node("a", node)
	g.Node("b", node)
	g.Node("c", node)
	g.Chain(graph.Start, "a", "b", "c", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		b.Fatal(err)
	}
	return func(round int) time.Duration {
		var all []graph.Submission[flow.ConversationUpdate]
		for i := range threads {
			all = append(all, graph.Submission[flow.ConversationUpdate]{Thread: fmt.Sprintf("%d-%d", round, i)})
		}
		if _, err := app.SubmitMany(b.Context(), all...); err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		var left atomic.Int64
		left.Store(threads)
		w := worker.New(saver, worker.Options{Slots: slots, OnEvent: func(e worker.Event) {
			if e.Kind == worker.EventEnded && e.Status == graph.Done && left.Add(-1) == 0 {
				cancel()
			}
		}}, app)
		began := time.Now()
		if err := w.Run(ctx); err != nil || left.Load() != 0 {
			b.Fatal(left.Load(), err)
		}
		return time.Since(began)
	}
}

// newTemporal returns a function that measures one round of workflows of three steps.
func newTemporal(b *testing.B, c client.Client, queue string, do func(workflow.Context) workflow.Future) func(round int) time.Duration {
	b.Helper()
	three := func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
		for range 3 {
			if err := do(ctx).Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	}
	return func(int) time.Duration {
		var runs []client.WorkflowRun
		for range threads {
			run, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: queue}, "three")
			if err != nil {
				b.Fatal(err)
			}
			runs = append(runs, run)
		}
		w := sdkworker.New(c, queue, sdkworker.Options{
			MaxConcurrentActivityExecutionSize: slots, MaxConcurrentLocalActivityExecutionSize: slots,
			MaxConcurrentActivityTaskPollers: slots, MaxConcurrentWorkflowTaskPollers: slots, // the default is 2
		})
		w.RegisterWorkflowWithOptions(three, workflow.RegisterOptions{Name: "three"})
		w.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: "step"})
		began := time.Now()
		if err := w.Start(); err != nil {
			b.Fatal(err)
		}
		for _, run := range runs {
			if err := run.Get(b.Context(), nil); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(began)
		w.Stop()
		return took
	}
}
