package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
)

// Observer is told what the runs of a graph do, and its subgraphs in them: for logs, metrics and traces. It is called on
// the goroutines of the runs, which wait for it, and by several at once. ctx is that of the run or of the node; what an
// Observer starts in it ends with that.
//
// An Observer that panics ends the run with an error at the next checkpoint. What the nodes did is stored.
type Observer interface {
	Observe(ctx context.Context, o Occurrence)
}

// Occurrence is one thing that a run did. Which fields are set depends on Kind.
type Occurrence struct {
	Kind   OccurrenceKind
	Graph  string
	Thread string // empty for Run
	Path   []ID   // of the subgraph nodes that lead to where it happened; nil in the graph itself
	Step   int    // the superstep's number in the thread

	Node    ID            // TaskBegan, TaskEnded, TaskStuck
	Index   int           // likewise: of the send that the task is of, else 0
	Attempt int           // likewise: from 1
	Outcome Outcome       // TaskEnded
	Took    time.Duration // TaskEnded, RunEnded; TaskStuck: since it was to end

	Checkpoint checkpoint.ID // Committed
	Next       []ID          // Committed: the nodes that are due

	Status Status // RunEnded
	Err    error  // TaskEnded: why, if the attempt failed or was cancelled; RunEnded: the error of the run
}

// OccurrenceKind says what happened.
type OccurrenceKind uint8

const (
	// RunBegan: a run has opened its thread, and is about to run its first node.
	RunBegan OccurrenceKind = iota + 1
	// RunEnded: the run is over.
	RunEnded
	// TaskBegan: an attempt of a node begins.
	TaskBegan
	// TaskEnded: the attempt has returned.
	TaskEnded
	// TaskStuck: a node has not returned although its context ended a while ago, and the run waits for it. It is told once.
	TaskStuck
	// Committed: a superstep was stored, or queued to be.
	Committed
)

// String returns "run began" and so on.
func (k OccurrenceKind) String() string {
	names := [...]string{"", "run began", "run ended", "task began", "task ended", "task stuck", "committed"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown occurrence"
}

// Observe has o told what the graph's runs do. There can be several. A nil o is a fault of Compile.
func Observe(o Observer) Option {
	return compileOption(func(opt *options) { opt.observers = append(opt.observers, o) })
}

// stuckAfter is how long a node may take to return after its context has ended, before it is called stuck.
const stuckAfter = 10 * time.Second

// notify calls the observers, if there are any.
func (r *run) notify(ctx context.Context, o Occurrence) {
	o.Graph, o.Thread, o.Path = r.g.name, r.thread, slices.Clip(r.path)
	for _, observer := range r.observers {
		r.observing.call(ctx, observer, o)
	}
}

// observing is what went wrong in the observers of a run and of its subgraphs. The zero observing is nothing.
type observing struct {
	mu  sync.Mutex
	err error // the first panic of an observer
}

// call calls an observer, and keeps the first panic of any.
func (f *observing) call(ctx context.Context, observer Observer, o Occurrence) {
	returned := false
	defer func() {
		if returned {
			return
		}
		err := ErrGoexit
		if v := recover(); v != nil {
			err = newPanic(v)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.err == nil {
			f.err = fmt.Errorf("%s: observer %T, at %q: %w", where(o.Graph, o.Thread, o.Step), observer, o.Kind, err)
		}
	}()
	observer.Observe(ctx, o)
	returned = true
}

// observing returns where the panics of the observers of one run are kept; nil if it can have none.
func (g *core) observing() *observing {
	if g.opt.observers == nil && !g.nests {
		return nil
	}
	return new(observing)
}

// failed returns the first panic of an observer as an error; nil for none.
func (f *observing) failed() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// join returns err, the error of a run, with the first panic of an observer.
func (f *observing) join(err error) error {
	panicked := f.failed()
	if panicked == nil || errors.Is(err, panicked) {
		return err
	}
	return errors.Join(err, panicked)
}

// watch tells that the run begins, and returns what to call when it is over.
func (r *run) watch() func(Status, error) {
	if r.observers == nil {
		return func(Status, error) {}
	}
	r.notify(r.ctx, Occurrence{Kind: RunBegan, Step: r.plan.Step})
	start := time.Now()
	return func(status Status, err error) {
		r.notify(r.ctx, Occurrence{Kind: RunEnded, Step: r.plan.Step, Took: time.Since(start), Status: status, Err: err})
	}
}

// began reports that an attempt begins under ctx, and returns what to call when it has returned. Its task runs under parent.
func (r *run) began(ctx, parent context.Context, sl *exec.Task) func() {
	o := Occurrence{Kind: TaskBegan, Step: r.plan.Step + 1, Node: r.g.nodes[sl.Node].id, Index: sl.Index, Attempt: sl.Attempt}
	r.notify(ctx, o)
	start := time.Now()
	returned := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { r.watchStuck(ctx, o, returned) })
	return func() {
		stop()
		close(returned)
		ended := o
		ended.Kind, ended.Took, ended.Outcome = TaskEnded, time.Since(start), Outcome(sl.Outcome(parent))
		if ended.Outcome.failed() {
			ended.Err = sl.Err
		}
		r.notify(ctx, ended)
	}
}

// watchStuck tells of a node that does not return.
func (r *run) watchStuck(ctx context.Context, o Occurrence, returned <-chan struct{}) {
	t := time.NewTimer(stuckAfter)
	defer t.Stop()
	select {
	case <-returned:
	case <-t.C:
		o.Kind, o.Took = TaskStuck, stuckAfter
		r.notify(ctx, o)
	}
}
