package task

import (
	"context"
	"sync"
)

// Route is the context of the routes of a run, which are called one after another. It lives as
// long as the run, so that a call allocates nothing. The zero Route is ready.
type Route struct {
	context.Context
	mu     sync.Mutex
	task   Task
	active bool // a route runs
}

// Begin makes t the task of the route that is called next, under parent.
func (r *Route) Begin(parent context.Context, t Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Context == nil {
		r.Context = parent
	}
	r.task, r.active = t, true
}

// End ends the call of the route: Current reports no task.
func (r *Route) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = false
}

// Value implements context.Context.
func (r *Route) Value(key any) any {
	if _, ok := key.(contextKey); ok {
		return r
	}
	return r.Context.Value(key)
}

// current returns the task of the route that runs.
func (r *Route) current() (Task, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.active {
		return Task{}, false
	}
	return r.task, true
}
