package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Observer receives the events of all runs of a graph and of its subgraphs, for logs, metrics and
// traces. Runs call it concurrently, on their own goroutines, and wait until it returns. ctx is
// the context of the run or of the node.
//
// An Observer receives EventRunStarted, EventRunEnded, EventTaskStarted, EventTaskEnded,
// EventTaskRetry, EventTaskFallback, EventTaskCached, EventTaskStuck, EventCheckpoint and
// EventPruneFailed. Streams do not yield EventPruneFailed, and also yield events with updates and
// states.
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

// unpruned notifies that a Prune after a checkpoint failed.
func (w *watchers) unpruned(ctx context.Context, step int, err error) {
	if w.any() {
		w.notify(ctx, RunEvent{Kind: EventPruneFailed, Step: step, Err: err})
	}
}

// notifyOf notifies of an event of a task.
func (w *watchers) notifyOf(ctx context.Context, t exec.Seen, o RunEvent) {
	o.Step, o.Node, o.Index = t.Step, ID(t.Node), t.Index
	w.notify(ctx, o)
}

// Started implements exec.Observer.
func (w *watchers) Started(ctx context.Context, t exec.Seen) func() {
	o := RunEvent{Kind: EventTaskStarted, Attempt: t.Attempt, Summary: t.Summary}
	w.notifyOf(ctx, t, o)
	start := time.Now()
	return func() {
		o.Kind, o.Took, o.Outcome, o.Summary = EventTaskEnded, time.Since(start), Outcome(t.Outcome()), task.Summary(ctx)
		if o.Outcome.failed() {
			o.Err = t.Err
		}
		w.notifyOf(ctx, t, o)
	}
}

// Stuck implements exec.Observer.
func (w *watchers) Stuck(ctx context.Context, t exec.Seen, since time.Duration, summary string) {
	w.notifyOf(ctx, t, RunEvent{Kind: EventTaskStuck, Attempt: t.Attempt, Summary: summary, Took: since})
}

// Retrying implements exec.Observer.
func (w *watchers) Retrying(ctx context.Context, t exec.Seen, delay time.Duration) {
	w.notifyOf(ctx, t, RunEvent{Kind: EventTaskRetry, Attempt: t.Attempt, Summary: t.Summary, Delay: delay, Err: t.Err})
}

// FallingBack implements exec.Observer.
func (w *watchers) FallingBack(ctx context.Context, t exec.Seen) {
	w.notifyOf(ctx, t, RunEvent{Kind: EventTaskFallback, Attempt: t.Attempt, Summary: t.Summary, Err: t.Failure})
}

// Cached implements exec.Observer.
func (w *watchers) Cached(ctx context.Context, t exec.Seen, err error) {
	w.notifyOf(ctx, t, RunEvent{Kind: EventTaskCached, Err: err})
}
