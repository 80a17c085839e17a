package worker_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
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

	say, said, line, lineOf = jobs.Say, jobs.Said, jobs.Line, jobs.LineOf
	submit, ids, listed     = jobs.Submit, jobs.IDs, jobs.Listed
)

var errBroken = errors.New("it broke")

// events collects the events of a worker.
type events struct {
	mu  sync.Mutex
	all []worker.Event
}

func (e *events) add(ev worker.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

// of returns the events of a kind.
func (e *events) of(kind worker.EventKind) (found []worker.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if ev.Kind == kind {
			found = append(found, ev)
		}
	}
	return found
}

// started is a worker that runs.
type started struct {
	*worker.Worker
	*events
	tb     testing.TB
	cancel context.CancelFunc
	ended  chan error
}

// start runs a worker until the test ends.
func start(tb testing.TB, s checkpoint.Saver, o worker.Options, apps ...worker.App) *started {
	tb.Helper()
	st := &started{events: new(events), tb: tb, ended: make(chan error, 1)}
	o.OnEvent = st.add
	st.Worker = worker.New(s, o, apps...)
	ctx, cancel := context.WithCancel(context.Background())
	st.cancel = cancel
	go func() { st.ended <- st.Run(ctx) }()
	tb.Cleanup(func() { cancel() })
	return st
}

// stop ends the worker and returns the error of Run.
func (st *started) stop() error {
	st.cancel()
	return <-st.ended
}
