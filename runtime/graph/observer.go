package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Observer receives the events of all runs of a graph and of its subgraphs, for logs, metrics and
// traces. Runs call it concurrently, on their own goroutines, and wait until it returns. ctx is
// the context of the run or of the node.
//
// An Observer receives EventRunStarted, EventRunEnded, EventTaskStarted, EventTaskEnded,
// EventTaskRetry, EventTaskFallback, EventTaskCached, EventTaskStuck, EventCheckpoint and
// EventPruneFailed. A stream yields the same events, except EventPruneFailed, and also the events
// with data of the run.
//
// If an Observer panics, the run ends with an error at the next checkpoint. The results of its
// nodes are stored.
type Observer interface {
	Observe(ctx context.Context, o RunEvent)
}

// Observe adds an Observer of the graph's runs. There can be several. A nil o is a fault of
// Compile.
func Observe(o Observer) Option {
	return compileOption(func(opt *options) { opt.observers = append(opt.observers, o) })
}

// watchers are the observers of a run, or of a subgraph in one.
type watchers struct {
	graph, thread string
	path          []PathElement // the subgraph calls around the graph
	observers     []Observer
	*observing
}

// watching returns the observers of a run of g; nil if the run can have none.
func watching(g *core, thread string) *watchers {
	if g.opt.observers == nil && g.opt.interceptors == nil && !g.nests {
		return nil
	}
	return &watchers{graph: g.name, thread: thread, observers: g.opt.observers, observing: new(observing)}
}

// in returns the observers of a subgraph.
func (w *watchers) in(child *core, path []PathElement) *watchers {
	observers := append(slices.Clip(w.observers), child.opt.observers...)
	return &watchers{graph: child.name, thread: w.thread, path: path, observers: observers, observing: w.observing}
}

// any reports whether there are observers.
func (w *watchers) any() bool { return w != nil && len(w.observers) > 0 }

// notify calls the observers, if there are any.
func (w *watchers) notify(ctx context.Context, o RunEvent) {
	o.Graph, o.Thread, o.Path = w.graph, w.thread, slices.Clone(w.path)
	for _, observer := range w.observers {
		w.call(ctx, observer, o)
	}
}

// observing has the first error that ends a run although its superstep succeeded: a panic of an
// observer, or an error of an interceptor. The subgraphs of the run share it. The zero observing
// has none.
type observing struct {
	mu  sync.Mutex
	err error
}

// call calls an observer, and keeps the first panic of all of them.
func (f *observing) call(ctx context.Context, observer Observer, o RunEvent) {
	returned := false
	defer func() {
		if returned {
			return
		}
		err := ErrGoexit
		if v := recover(); v != nil {
			err = newPanic(v)
		}
		f.report(fmt.Errorf("%s: observer %T, at %q: %w", where(o.Graph, o.Thread, o.Step), observer, o.Kind, err))
	}()
	observer.Observe(ctx, o)
	returned = true
}

// report makes err an error of the run, unless there is one.
func (f *observing) report(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// failed returns the first error that was reported, or the panic of an observer; nil for none.
func (w *watchers) failed() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// join returns err, the error of a run, with the first panic of an observer.
func (w *watchers) join(err error) error {
	panicked := w.failed()
	if panicked == nil || errors.Is(err, panicked) {
		return err
	}
	return errors.Join(err, panicked)
}

// run notifies of the start of a run, and returns the function to call at its end.
func (w *watchers) run(ctx context.Context, step int) func(step int, status Status, err error) {
	if !w.any() {
		return func(int, Status, error) {}
	}
	w.notify(ctx, RunEvent{Kind: EventRunStarted, Step: step})
	start := time.Now()
	return func(step int, status Status, err error) {
		w.notify(ctx, RunEvent{Kind: EventRunEnded, Step: step, Took: time.Since(start), Status: status, Err: err})
	}
}

// attempt notifies that the attempt o of a task starts under ctx. It returns the function to call
// at the end of the attempt, with its outcome and error.
func (w *watchers) attempt(ctx context.Context, o RunEvent) func(Outcome, error) {
	o.Kind = EventTaskStarted
	w.notify(ctx, o)
	start := time.Now()
	return func(outcome Outcome, err error) {
		o.Summary = task.Summary(ctx)
		o.Kind, o.Took, o.Outcome = EventTaskEnded, time.Since(start), outcome
		if outcome.failed() {
			o.Err = err
		}
		w.notify(ctx, o)
	}
}

// retrying notifies of a failed attempt that is followed by another one.
func (w *watchers) retrying(ctx context.Context, o RunEvent) {
	o.Kind = EventTaskRetry
	w.notify(ctx, o)
}

// unpruned notifies that a Prune after a checkpoint failed.
func (w *watchers) unpruned(ctx context.Context, step int, err error) {
	if w.any() {
		w.notify(ctx, RunEvent{Kind: EventPruneFailed, Step: step, Err: err})
	}
}

// fallingBack notifies of a failed attempt that is followed by the Fallback.
func (w *watchers) fallingBack(ctx context.Context, o RunEvent) {
	o.Kind = EventTaskFallback
	w.notify(ctx, o)
}
