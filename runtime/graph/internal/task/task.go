// Package task is the context in which a node runs, with the task that it runs for and the
// questions that the task may ask. It is apart from package graph so that graphtest can make one
// without a run.
//
// Invariants:
//   - A Context belongs to one attempt and is never used again. It is cancelled when the attempt
//     ends, and no task runs under it then.
//   - A worker runs one attempt at a time.
//   - Asked again at the same place, a question has to be the same until its task is done.
package task

import (
	"context"
	"sync"
	"time"
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

// Worker runs attempts one after another, each under a Context of its own. Its parent context
// never changes. Init makes a zero Worker ready. Begin and End must not be called concurrently.
type Worker struct {
	parent context.Context
	host   Host
	free   []Context           // contexts that no attempt has had
	block  int                 // how many the newest block has
	first  [firstBlock]Context // the first block: a short run allocates none

	current *Context // of the attempt that runs

	// Begin changes what mu guards without mu. No reader conflicts: it has the context of an
	// attempt that has ended, and then reads nothing else.
	mu      sync.Mutex
	emit    Emitter           // nil if nobody listens
	values  bool              // the consumer chose what nodes emit, and not only events of subgraphs
	watch   func()            // called when the attempt reports progress; nil for nobody
	task    Task              // of the attempt that runs
	carried Carried           // of that task
	parts   map[string]string // of the result of the attempt, by name; nil for none

	fallback bool // the attempt is that of the Fallback

	ctx    context.Context    // cancelled when the attempt ends; nil until the attempt asks for it
	cancel context.CancelFunc // of ctx
}

// Emitter gets the values that the attempts of a task emit, with the number of the attempt and the
// summary that the task has then.
type Emitter func(attempt int, summary string, v any)

// A Context is never used again, because a goroutine that a node left behind may keep it. A
// worker allocates contexts in blocks, each blockGrowth times as large as the one before: a long
// run allocates once in largestBlock attempts.
const (
	firstBlock   = 8
	blockGrowth  = 8
	largestBlock = 192
)

// Host is the run that tasks belong to. Its methods are safe for concurrent use.
type Host interface {
	// Key returns the key of t. It is called when the key is first asked for.
	Key(t *Task) string
	// Calls returns the durable calls of t, with the results that earlier runs stored. It is
	// called when the task makes its first call.
	Calls(t *Task, fallback bool) *Calls
	// Asks returns what holds the timers of t; nil for a task that waits in memory. It is called
	// when a task without Asks sets its first timer.
	Asks(t *Task) *Asks
	// Progress notes how far t is, and LastProgress returns the newest note of all attempts.
	Progress(t *Task, note string)
	LastProgress(t *Task) (note string, ok bool)
}

// Attempt is an attempt that begins.
type Attempt struct {
	Node     string
	Index    int // of the send
	Step     int
	Number   int  // from 1
	Fallback bool // the Fallback of the node runs
	Carried
}

// Carried is what an attempt of a task leaves to the next one.
type Carried struct {
	Summary string // that the attempts have set; empty for none
	Asks    *Asks  // nil for a task that must not ask
	Calls   *Calls // the durable calls; nil before the first one
}

// Init makes w, which must be zero, a worker under parent. Its tasks will be those of the run
// that of describes.
func (w *Worker) Init(parent context.Context, of Task, host Host) {
	w.parent, w.task, w.host = parent, of, host
	w.free, w.block = w.first[:], firstBlock
}

// Parent returns the context that the attempts run under.
func (w *Worker) Parent() context.Context { return w.parent }

// Emitting makes emit get what the attempts that begin after the call emit. Any goroutine of the
// node calls emit. values says that the consumer chose what nodes emit.
func (w *Worker) Emitting(emit Emitter, values bool) {
	w.mu.Lock()
	w.emit, w.values = emit, values
	w.mu.Unlock()
}

// Watch makes watch be called whenever the attempt that has begun reports progress. Any goroutine
// of the node calls watch.
func (w *Worker) Watch(watch func()) {
	w.mu.Lock()
	w.watch = watch
	w.mu.Unlock()
}

// Begin returns the context of a new attempt. It does not keep a.
func (w *Worker) Begin(a *Attempt) *Context {
	if len(w.free) == 0 {
		w.block = min(w.block*blockGrowth, largestBlock)
		w.free = make([]Context, w.block)
	}
	c := &w.free[0]
	w.free = w.free[1:]
	c.worker = w
	w.current, w.carried, w.parts, w.fallback = c, a.Carried, nil, a.Fallback
	w.task.Node, w.task.Index, w.task.Step, w.task.Attempt, w.task.Key = a.Node, a.Index, a.Step, a.Number, ""
	if a.Calls != nil {
		a.Calls.restart(a.Fallback)
	}
	return c
}

// End ends the attempt and cancels its context: from here on Current reports no task under it. It
// returns what the attempt leaves to the next one, and the parts of its result.
func (w *Worker) End() (carried Carried, parts map[string]string) {
	w.mu.Lock()
	w.current.ended, w.watch = true, nil
	carried, parts = w.carried, w.parts
	cancel := w.cancel
	if cancel != nil {
		w.ctx, w.cancel = nil, nil
	}
	w.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if carried.Calls != nil {
		carried.Calls.end()
	}
	return carried, parts
}

// Context is the context of one attempt. It is safe for concurrent use, also after the attempt
// has ended: it is cancelled then, and no task runs under it.
type Context struct {
	worker *Worker
	ended  bool // the attempt has; under the lock of worker
}

// contextKey is what a Context answers to with itself, as does the context of a durable call.
type contextKey struct{}

// find returns the Context that ctx is made from, and the durable call that it is the context of:
// empty for none.
func find(ctx context.Context) (c *Context, call string) {
	switch found := ctx.Value(contextKey{}).(type) {
	case *Context:
		return found, ""
	case *inCall:
		return found.of, found.name
	}
	return nil, ""
}

// during calls f with the worker of the task that runs under ctx, and holds its lock meanwhile. It
// reports whether a task runs under ctx.
func during(ctx context.Context, f func(w *Worker)) (runs bool) {
	c, _ := find(ctx)
	if c == nil {
		return false
	}
	c.worker.mu.Lock()
	defer c.worker.mu.Unlock()
	if !c.ended {
		f(c.worker)
	}
	return !c.ended
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.worker.parent.Deadline() }

// Done implements context.Context. The first call of an attempt allocates.
func (c *Context) Done() <-chan struct{} { return c.cancellable().Done() }

// Err implements context.Context.
func (c *Context) Err() error {
	w := c.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.ended:
		return context.Canceled
	case w.ctx != nil:
		return w.ctx.Err()
	}
	return w.parent.Err()
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	if _, ok := key.(contextKey); ok {
		return c
	}
	w := c.worker
	w.mu.Lock()
	ctx := w.parent
	if !c.ended && w.ctx != nil {
		ctx = w.ctx
	}
	w.mu.Unlock()
	return ctx.Value(key)
}

// cancellable returns a context that ends with the attempt.
func (c *Context) cancellable() context.Context {
	w := c.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ended {
		ctx, cancel := context.WithCancel(w.parent)
		cancel()
		return ctx
	}
	if w.ctx == nil {
		w.ctx, w.cancel = context.WithCancel(w.parent)
	}
	return w.ctx
}

// Under reports whether ctx is attempt, the context of an attempt, or a child of it.
func Under(ctx, attempt context.Context) bool {
	of, _ := find(attempt)
	c, _ := find(ctx)
	return c != nil && c == of
}

// Parent returns the context of the task whose attempt runs under ctx; ctx itself for none.
func Parent(ctx context.Context) context.Context {
	if c, _ := find(ctx); c != nil {
		return c.worker.parent
	}
	return ctx
}

// Emit hands v to who listens to the task that runs under ctx, if anybody does.
func Emit(ctx context.Context, v any) {
	c, _ := find(ctx)
	if c == nil {
		return
	}
	if emit, attempt, summary := c.emitter(); emit != nil {
		emit(attempt, summary, v)
	}
}

// Listening reports whether a consumer gets what the task that runs under ctx emits.
func Listening(ctx context.Context) (listening bool) {
	during(ctx, func(w *Worker) { listening = w.emit != nil && w.values })
	return listening
}

// emitter returns the function that gets what the attempt of c emits, with its first arguments. It
// returns nil if nobody listens, or if the attempt has ended.
func (c *Context) emitter() (emit Emitter, attempt int, summary string) {
	w := c.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ended {
		return nil, 0, ""
	}
	return w.emit, w.task.Attempt, w.carried.Summary
}

// Alive says that the task that runs under ctx makes progress. It says the same of the tasks whose
// subgraph calls the task is in.
func Alive(ctx context.Context) {
	for c, _ := find(ctx); c != nil; c, _ = find(c.worker.parent) {
		if watch := c.watcher(); watch != nil {
			watch()
		}
	}
}

// watcher returns the function that is called when the attempt of c reports progress; nil for
// none.
func (c *Context) watcher() func() {
	w := c.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ended {
		return nil
	}
	return w.watch
}

// Progress notes how far the task that runs under ctx is. It does nothing if none runs.
func Progress(ctx context.Context, note string) {
	during(ctx, func(w *Worker) { w.host.Progress(&w.task, note) })
}

// LastProgress returns the newest note of the task that runs under ctx, of all its attempts. ok is
// false if there is none.
func LastProgress(ctx context.Context) (note string, ok bool) {
	during(ctx, func(w *Worker) { note, ok = w.host.LastProgress(&w.task) })
	return note, ok
}

// Summarise sets the summary of the task that runs under ctx. It does nothing if none runs.
func Summarise(ctx context.Context, summary string) {
	during(ctx, func(w *Worker) { w.carried.Summary = summary })
}

// Summary returns the summary of the task that runs under ctx; empty for none.
func Summary(ctx context.Context) (summary string) {
	during(ctx, func(w *Worker) { summary = w.carried.Summary })
	return summary
}

// Current returns the task that runs under ctx, and false when none does. In a durable call, the
// key is that of the call.
func Current(ctx context.Context) (Task, bool) {
	if r, ok := ctx.Value(contextKey{}).(*Route); ok {
		return r.current()
	}
	c, call := find(ctx)
	if c == nil {
		return Task{}, false
	}
	w := c.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ended {
		return Task{}, false
	}
	if w.task.Key == "" {
		w.task.Key = w.host.Key(&w.task)
	}
	t := w.task
	if call != "" {
		t.Key += "/" + call
	}
	return t, true
}
