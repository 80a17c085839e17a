// Package task is the context in which a node runs. It is apart from package graph so that graphtest can
// make one without a run.
package task

import (
	"context"
	"sync"
)

// Task is one execution of a node in a superstep. See graph.Task, which is this type.
type Task struct {
	Graph   string
	Thread  string
	Node    string
	Step    int
	Index   int
	Attempt int
	Key     string
}

// Context is the context of a task. One serves a run's tasks one after another: it is aimed at each, so
// that a step of one task allocates nothing. Its parent never changes.
//
// A goroutine that a node left behind may still ask it for the task; the lock makes that safe, and the
// answer is then no.
type Context struct {
	context.Context

	mu     sync.Mutex
	task   Task
	key    func(t *Task) string // makes the key when it is first asked for
	asks   *Asks                // nil for a task that must not ask
	emit   func(v any)          // nil when nobody listens
	active bool
}

// Init makes c, which must be zero, a context under parent that is not aimed at a task yet. Its tasks will be those
// of the run that of describes. key makes a task's key.
func (c *Context) Init(parent context.Context, of Task, key func(t *Task) string) {
	c.Context, c.task, c.key = parent, of, key
}

// Aim makes the given attempt of a node, on a send of the given index, the task that Current reports.
func (c *Context) Aim(node string, index, step, attempt int) {
	c.mu.Lock()
	c.task.Node, c.task.Index, c.task.Step, c.task.Attempt, c.task.Key = node, index, step, attempt, ""
	c.asks, c.active = nil, true
	c.mu.Unlock()
}

// Emitting makes emit get what the tasks emit from here on. It is called by any goroutine.
func (c *Context) Emitting(emit func(v any)) {
	c.mu.Lock()
	c.emit = emit
	c.mu.Unlock()
}

// Emit hands v to who listens to the task that runs under ctx, if anybody does.
func Emit(ctx context.Context, v any) {
	c, ok := ctx.Value(contextKey{}).(*Context)
	if !ok {
		return
	}
	c.mu.Lock()
	emit, active := c.emit, c.active
	c.mu.Unlock()
	if active && emit != nil {
		emit(v)
	}
}

// Asking gives the task that c is aimed at what it may ask and was answered.
func (c *Context) Asking(a *Asks) {
	c.mu.Lock()
	c.asks = a
	c.mu.Unlock()
}

// Finish ends the task: from here on Current reports none.
func (c *Context) Finish() {
	c.mu.Lock()
	c.active = false
	c.mu.Unlock()
}

// contextKey is what a Context answers to with itself.
type contextKey struct{}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	if _, ok := key.(contextKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// Current returns the task that runs under ctx, and false when none does.
func Current(ctx context.Context) (Task, bool) {
	c, ok := ctx.Value(contextKey{}).(*Context)
	if !ok {
		return Task{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.active {
		return Task{}, false
	}
	if c.task.Key == "" && c.key != nil {
		c.task.Key = c.key(&c.task)
	}
	return c.task, true
}
