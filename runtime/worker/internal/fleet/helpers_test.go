package fleet_test

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/runtime/worker/internal/jobs"
)

type (
	Job       = jobs.Job
	JobUpdate = jobs.JobUpdate
	app       = jobs.App
	node      = jobs.Node
	counter   = jobs.Counter
)

var (
	JobSchema = jobs.JobSchema

	say, said, line     = jobs.Say, jobs.Said, jobs.Line
	submit, ids, listed = jobs.Submit, jobs.IDs, jobs.Listed
)

// heavy compiles a graph whose node n1 has the queue gpu.
func heavy(tb testing.TB, s checkpoint.Saver, n node, opts ...graph.Option) *app {
	tb.Helper()
	b := graph.New("heavy", JobSchema)
	b.Node("n0", say("n0"))
	b.Node("n1", n, graph.Queue("gpu"))
	b.Edge(graph.Start, "n0")
	b.Edge("n0", "n1")
	b.Edge("n1", graph.End)
	g, err := b.Compile(append(opts, graph.Saver(s))...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// running runs a worker until the returned function is called, which returns the error of Run.
func running(w *worker.Worker) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error)
	go func() { over <- w.Run(ctx) }()
	return func() error {
		cancel()
		return <-over
	}
}
