package dbos

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// Each run has this number of steps, one after the other. A round has this number of runs.
const steps, runs = 10, 20

// BenchmarkSteps runs threads and workflows of ten steps that do nothing, one at a time, on the
// same PostgreSQL. They take turns. Each step is stored before the next one begins.
func BenchmarkSteps(b *testing.B) {
	dsn := testenv.Postgres(b)
	thread, workflow := newThread(b, dsn), newWorkflow(b, dsn)
	thread(b, "warm up")
	workflow(b, "warm up")
	var took [2]time.Duration
	for round := range b.N {
		for i, run := range []func(b *testing.B, id string){thread, workflow} {
			began := time.Now()
			for n := range runs {
				run(b, fmt.Sprintf("%d-%d", round, n))
			}
			took[i] += time.Since(began)
		}
	}
	for i, unit := range []string{"graphgen-ns/step", "dbos-ns/step"} {
		b.ReportMetric(float64(took[i].Nanoseconds())/float64(b.N*runs*steps), unit)
	}
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "graphgen/dbos")
}

// newThread returns a function that runs a thread.
func newThread(b *testing.B, dsn string) func(b *testing.B, id string) {
	b.Helper()
	saver, err := postgres.Open(b.Context(), dsn, postgres.PrepareStatements())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = saver.Close() })
	g := graph.New("steps", flow.ConversationSchema)
	chain := []graph.ID{graph.Start}
	for i := range steps {
		chain = append(chain, g.Node(graph.ID(fmt.Sprint("step", i)), func(context.Context, flow.Conversation) (flow.ConversationUpdate, error) {
			return flow.ConversationUpdate{}, nil
		}))
	}
	g.Chain(append(chain, graph.End)...)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		b.Fatal(err)
	}
	return func(b *testing.B, id string) {
		b.Helper()
		if run, err := app.Thread(id).Invoke(b.Context(), flow.ConversationUpdate{}); err != nil || run.Status != graph.Done {
			b.Fatal(run.Status, err)
		}
	}
}

// newWorkflow returns a function that runs a workflow. The pool is as large as that of the saver.
func newWorkflow(b *testing.B, dsn string) func(b *testing.B, id string) {
	b.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	system, err := dbos.NewContext(b.Context(), dbos.Config{AppName: "bench", SystemDBPool: pool, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	run := func(ctx dbos.Context, _ string) (string, error) {
		for range steps {
			if _, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return "", nil }); err != nil {
				return "", err
			}
		}
		return "", nil
	}
	dbos.RegisterWorkflow(system, run, dbos.WithWorkflowName("steps"))
	if err := dbos.Launch(system); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = dbos.Shutdown(system, time.Minute) })
	return func(b *testing.B, id string) {
		b.Helper()
		handle, err := dbos.RunWorkflow(system, run, "", dbos.WithWorkflowID(id))
		if err == nil {
			_, err = handle.GetResult()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
