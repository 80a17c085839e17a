package graph

import (
	"context"
	"slices"
)

// Interceptor wraps the work of a graph, as middleware wraps an HTTP handler: for traces, limits,
// authorisation and values in contexts. Each field is a function that gets the context, a
// description of the work, and next, which does the work. A nil field wraps nothing.
//
//   - Run wraps a run: Graph.Run, or a call or a worker that runs a thread. It begins before the
//     thread is opened, and ends after the run is stored. It does not wrap subgraph calls, because
//     Task does.
//   - Step wraps a superstep, with its commit.
//   - Task wraps one attempt of a task of any kind of node, or its Fallback.
//   - Route wraps a call of a route.
//
// A function may pass next a child of its context. Nodes, routes and calls of the saver inside it
// get that context. It may refuse the work: it returns an error and does not call next. It must
// not call next more than once, and must not return nil without calling it. It should call next on
// its own goroutine, and clean up in a deferred function, because a node can end its goroutine. If
// the function returns or panics while next runs on another goroutine, the run waits for next.
//
// The functions of several interceptors wrap each other, the first outermost. Those of a subgraph
// are inside those of its parent graph. A Queue runs its tasks in other processes. There, Task
// wraps the attempt in the worker of the queue, and Run and Step do not.
//
// If next returns an error, the function should return it, perhaps wrapped. An error cannot become
// nil: if the function returns nil, the error of next counts. See Interrupted for wrappers inside
// a node. A panic of the function is an error
// of the work. For an error of Task, Retry and Fallback apply.
//
// Runs call the functions concurrently.
type Interceptor struct {
	// Run gets the status of the run from next: Done, Waiting, Paused and so on. It is zero if the
	// thread was not opened. An error of Run joins that of the run.
	Run func(ctx context.Context, r RunInfo, next func(context.Context) (Status, error)) error

	// Step gets from next the status of the run, which is Running if another superstep follows. If
	// Step returns an error, the run fails. A superstep that was committed stays committed.
	Step func(ctx context.Context, s StepInfo, next func(context.Context) (Status, error)) error

	// Task gets the Outcome of the attempt from next. Only OutcomeFailed, OutcomeRetrying,
	// OutcomeCancelled and OutcomeSuperseded come with an error: a task that waits has none. The
	// error that Task returns replaces that of next. If the outcome is OutcomeWaiting,
	// OutcomePaused or OutcomeReady, an error of Task joins that of the run instead, and the task
	// keeps waiting.
	//
	// next returns an error if its context is not a child of the context that Task got.
	Task func(ctx context.Context, t TaskInfo, next func(context.Context) (Outcome, error)) error

	// Route gets the nodes that the route chose from next. A route that fails ends the run.
	Route func(ctx context.Context, r RouteInfo, next func(context.Context) ([]ID, error)) error
}

// RunInfo describes a run to an Interceptor.
type RunInfo struct {
	Graph  string
	Thread string // empty for Graph.Run
	Resume bool   // Resume or ResumeStream; a Worker finds out itself
	Worker bool   // ResumeDue: a worker runs the thread
}

// StepInfo describes a superstep to an Interceptor.
type StepInfo struct {
	Graph  string
	Thread string        // empty for Graph.Run
	Path   []PathElement // the subgraph calls around the superstep, outermost first; nil in the graph itself
	Step   int           // its number in the thread, or in the subgraph call
}

// TaskInfo describes an attempt of a task to an Interceptor, or to a function of OnUpdate.
// CurrentTask has the key of the task.
type TaskInfo struct {
	Graph    string
	Thread   string        // empty for Graph.Run
	Path     []PathElement // the subgraph calls around the task, outermost first; nil in the graph itself
	Step     int           // the number of its superstep
	Node     ID
	Kind     NodeKind
	Index    int    // number of the send that the task runs, else 0
	Attempt  int    // from 1
	Fallback bool   // the attempt is that of the Fallback
	Queue    string // whose worker runs the attempt; empty in the process of the run
}

// RouteInfo describes a call of a route to an Interceptor.
type RouteInfo struct {
	Graph  string
	Thread string        // empty for Graph.Run
	Path   []PathElement // the subgraph calls around the route, outermost first; nil in the graph itself
	Step   int           // the number of the superstep that ran the node
	Node   ID            // the node that the route leaves
}

// Intercept adds interceptors to the runs of the graph and of its subgraphs, in order. It can be
// given several times. Compile reports an Interceptor without a function. It also reports a Run
// for a SubgraphOnly graph, because only the runs of the outermost graph are wrapped.
func Intercept(interceptors ...Interceptor) Option {
	interceptors = slices.Clone(interceptors)
	return compileOption(func(o *options) { o.interceptors = append(o.interceptors, interceptors...) })
}

// checkInterceptors reports interceptors without effect.
func (c *compiler) checkInterceptors() {
	for i, in := range c.g.opt.interceptors {
		switch {
		case in.Run == nil && in.Step == nil && in.Task == nil && in.Route == nil:
			c.fault("Intercept: interceptor %d has no function; set Run, Step, Task or Route", i+1)
		case in.Run != nil && c.g.opt.nested:
			c.fault("Intercept: interceptor %d has a Run, which a SubgraphOnly graph does not call; pass it to the graph of the thread", i+1)
		}
	}
}
