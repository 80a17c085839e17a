package graph

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Drain ends the graph's runs on threads for a shutdown. Each run ends with the status Ready after
// it has committed its current superstep. From then on, calls that would start a run return
// ErrDraining. Drain returns when all runs have ended, or with the error of ctx if ctx ends first.
//
// Runs without a thread cannot be resumed, so they run to their end. Drain cannot be undone. A
// node that calls Drain waits for itself until ctx ends.
func (g *Graph[S, U]) Drain(ctx context.Context) error { return g.core.drain(ctx) }

// drain is Graph.Drain.
func (g *core) drain(ctx context.Context) error {
	select {
	case <-g.runs.drain():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("graph: %s: drain: %d runs are still in progress: %w", g.name, g.runs.count(), ctx.Err())
	}
}

// Drain ends the runs of the thread in this process. The run in progress ends with the status
// Ready after it has committed its current superstep. Until Drain returns, calls on this graph
// that would start a run of the thread return ErrDraining. So do calls that wait for the thread.
// Drain returns when all of them have ended, or with the error of ctx if ctx ends first. In that
// case, the run still ends after its superstep.
//
// If no such run is in progress, Drain returns immediately. Runs in other processes continue. The
// thread is due, so a worker continues it. To keep the thread from running, use Cancel. A node
// that drains its own thread waits for itself until ctx ends.
func (t Thread[S, U]) Drain(ctx context.Context) error { return t.thread.drain(ctx) }

// drain is Thread.Drain.
func (t threadCore) drain(ctx context.Context) error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.inside != nil {
		return t.fail("%w: drain the thread itself", ErrInside)
	}
	own := t.g.runs.thread(t.id)
	if own == nil {
		return nil
	}
	select {
	case <-own.drain():
		return nil
	case <-ctx.Done():
		return t.fail("drain: %d runs are still in progress: %w", own.count(), ctx.Err())
	}
}

// runs counts the runs of a graph, or of a thread of it, that are in progress. The zero runs has
// none.
type runs struct {
	mu       sync.Mutex
	threads  map[string]*runs // of a graph: the threads with runs in progress
	n        int
	drains   atomic.Bool   // Drain was called; read without mu
	draining chan struct{} // closed once no run is left; nil until Drain
	idle     bool          // draining is closed
	begun    chan struct{} // closed by Drain; nil until a run waits for it
}

// thread returns the runs of a thread; nil if none is in progress.
func (r *runs) thread(id string) *runs {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.threads[id]
}

// beginOn is begin for a run of a thread. It returns the runs of the thread, or nil if the graph
// or the thread drains. Each beginOn that succeeds needs one endOn.
func (r *runs) beginOn(id string) *runs {
	if !r.begin() {
		return nil
	}
	r.mu.Lock()
	own := r.threads[id]
	if own == nil {
		own = new(runs)
		if r.threads == nil {
			r.threads = make(map[string]*runs)
		}
		r.threads[id] = own
	}
	begun := own.begin()
	r.mu.Unlock()
	if !begun {
		r.end()
		return nil
	}
	return own
}

// endOn ends a run of a thread.
func (r *runs) endOn(id string, own *runs) {
	r.mu.Lock()
	if own.end(); own.count() == 0 {
		delete(r.threads, id)
	}
	r.mu.Unlock()
	r.end()
}

// begin counts a new run, unless the runs drain. Each begin that returns true needs one end.
func (r *runs) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining != nil {
		return false
	}
	r.n++
	return true
}

func (r *runs) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n--
	r.settle()
}

func (r *runs) drain() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining == nil {
		r.draining = make(chan struct{})
		r.drains.Store(true)
		if r.begun != nil {
			close(r.begun)
		}
	}
	r.settle()
	return r.draining
}

func (r *runs) settle() {
	if r.draining != nil && r.n == 0 && !r.idle {
		r.idle = true
		close(r.draining)
	}
}

// stops returns a channel that is closed when the runs begin to drain.
func (r *runs) stops() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun == nil {
		r.begun = make(chan struct{})
		if r.draining != nil {
			close(r.begun)
		}
	}
	return r.begun
}

func (r *runs) stopping() bool { return r.drains.Load() }

func (r *runs) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// drains are what ends a run after its current superstep. The zero drains never end one.
type drains struct {
	graph  *runs           // of the graph that was called; nil for none
	thread *runs           // of the thread; nil for none
	worker <-chan struct{} // closed when the worker that opened the run drains; nil for none
}

// stopping reports whether the run must end.
func (d drains) stopping() bool {
	if d.graph != nil && d.graph.stopping() || d.thread != nil && d.thread.stopping() {
		return true
	}
	if d.worker == nil {
		return false
	}
	select {
	case <-d.worker:
		return true
	default:
		return false
	}
}
