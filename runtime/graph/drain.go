package graph

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrDraining is returned by calls that would start a run after Drain. A run that Drain ends has
// the status Ready and no error.
var ErrDraining = errors.New("the graph is draining")

// Drain ends the graph's runs on threads for a shutdown. Each run ends with the status Ready after
// it has committed its current superstep. From then on, calls that would start a run return
// ErrDraining. Drain returns when all runs have ended, or with the error of ctx if ctx ends first.
//
// Runs without a thread cannot be resumed, so they run to their end. Drain cannot be undone. A
// node that calls Drain waits for itself until ctx ends.
func (g *Graph[S, U]) Drain(ctx context.Context) error {
	select {
	case <-g.runs.drain():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("graph: %s: drain: %d runs are still in progress: %w", g.name, g.runs.count(), ctx.Err())
	}
}

// runs counts the runs of a graph that are in progress. The zero runs has none.
type runs struct {
	mu       sync.Mutex
	n        int
	draining chan struct{} // closed once no run is left; nil until Drain
	idle     bool          // draining is closed
	begun    chan struct{} // closed by Drain; nil until a run waits for it
}

// begin counts a new run, unless the graph drains. Each begin that returns true needs one end.
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

// stops returns a channel that is closed when the graph begins to drain.
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

func (r *runs) stopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining != nil
}

func (r *runs) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// drains are what ends a run after its current superstep. The zero drains never end one.
type drains struct {
	graph  *runs           // of the graph that was called; nil for none
	worker <-chan struct{} // closed when the worker that opened the run drains; nil for none
}

// stopping reports whether the run must end.
func (d drains) stopping() bool {
	select {
	case <-d.worker:
		return true
	default:
		return d.graph != nil && d.graph.stopping()
	}
}
