package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Observer receives the events of all runs of a graph and of its subgraphs, for logs, metrics and traces. The runs call it on
// their goroutines, concurrently, and wait for it. ctx is the context of the run or of the node.
//
// It receives the events about runs, tasks and checkpoints: EventRunStarted, EventRunEnded, EventTaskStarted, EventTaskEnded,
// EventTaskRetry, EventTaskStuck and EventCheckpoint. A stream yields the same events, and those with data of the run.
//
// An Observer that panics ends the run with an error at the next checkpoint. What the nodes did is stored.
type Observer interface {
	Observe(ctx context.Context, o RunEvent)
}

// Observe adds an Observer of the graph's runs. There can be several. A nil o is a fault of Compile.
func Observe(o Observer) Option {
	return compileOption(func(opt *options) { opt.observers = append(opt.observers, o) })
}

// stuckAfter is how long a node may take to return after its context has ended, before it is called stuck.
const stuckAfter = 10 * time.Second

// watchers are the observers of a run, or of a subgraph in one.
type watchers struct {
	graph, thread string
	path          []string // of the subgraph nodes that lead to the graph
	observers     []Observer
	*observing
}

// watching returns the observers of a run of g; nil if the run can have none.
func watching(g *core, thread string) *watchers {
	if g.opt.observers == nil && !g.nests {
		return nil
	}
	return &watchers{graph: g.name, thread: thread, observers: g.opt.observers, observing: new(observing)}
}

// in returns the observers of a subgraph.
func (w *watchers) in(child *core, path []string) *watchers {
	observers := append(slices.Clip(w.observers), child.opt.observers...)
	return &watchers{graph: child.name, thread: w.thread, path: path, observers: observers, observing: w.observing}
}

// any reports whether there are observers.
func (w *watchers) any() bool { return w != nil && len(w.observers) > 0 }

// notify calls the observers, if there are any.
func (w *watchers) notify(ctx context.Context, o RunEvent) {
	o.Graph, o.Thread, o.Path = w.graph, w.thread, ids(w.path)
	for _, observer := range w.observers {
		w.call(ctx, observer, o)
	}
}

// observing is what went wrong in the observers of a run and of its subgraphs. The zero observing is nothing.
type observing struct {
	mu  sync.Mutex
	err error // the first panic of an observer
}

// call calls an observer, and keeps the first panic of any.
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
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.err == nil {
			f.err = fmt.Errorf("%s: observer %T, at %q: %w", where(o.Graph, o.Thread, o.Step), observer, o.Kind, err)
		}
	}()
	observer.Observe(ctx, o)
	returned = true
}

// failed returns the first panic of an observer as an error; nil for none.
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

// run tells that a run begins, and returns what to call when it is over.
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

// attempt tells that the attempt of a task begins under ctx, and returns what to call when it has ended: how, and the
// error of the attempt. o says which attempt it is.
func (w *watchers) attempt(ctx context.Context, o RunEvent) func(Outcome, error) {
	o.Kind = EventTaskStarted
	w.notify(ctx, o)
	start := time.Now()
	returned := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { w.unreturned(ctx, o, returned) })
	return func(outcome Outcome, err error) {
		stop()
		close(returned)
		ended := o // unreturned may still read o
		ended.Kind, ended.Took, ended.Outcome = EventTaskEnded, time.Since(start), outcome
		if outcome.failed() {
			ended.Err = err
		}
		w.notify(ctx, ended)
	}
}

// retrying notifies of a failed attempt that is followed by another one.
func (w *watchers) retrying(ctx context.Context, o RunEvent) {
	o.Kind = EventTaskRetry
	w.notify(ctx, o)
}

// unreturned notifies of a node that does not return.
func (w *watchers) unreturned(ctx context.Context, o RunEvent, returned <-chan struct{}) {
	t := time.NewTimer(stuckAfter)
	defer t.Stop()
	select {
	case <-returned:
	case <-t.C:
		o.Kind, o.Took = EventTaskStuck, stuckAfter
		w.notify(ctx, o)
	}
}
