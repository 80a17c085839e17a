package graph

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Errors of calls, wrapped in the returned errors; test with errors.Is.
var (
	// ErrUnfinished is returned by Invoke on an unfinished thread, and by UpdateState with AsNode
	// if other tasks are due too.
	ErrUnfinished = errors.New("the thread is not finished")
	// ErrGraphChanged is returned if a stored thread does not fit the code. Another graph stored
	// it, or the code lacks one of its nodes or fields, or has a field with another type. Bytes
	// that no program wrote return checkpoint.ErrDamaged instead. Every decoding error is one of
	// the two.
	ErrGraphChanged = errors.New("the graph has changed")
	// ErrReleased is returned by a call that continues from a checkpoint of a released version,
	// which is read-only.
	ErrReleased = errors.New("the version was released")
	// ErrOwnThread is returned if a node runs, edits or releases the thread that its own run
	// holds, even through a node of another thread.
	ErrOwnThread = errors.New("the thread is held by the run that the call comes from")
	// ErrInside is returned by calls that run, fork or release a Thread that Inside returned. Only
	// UpdateState without a node can be called there.
	ErrInside = errors.New("the thread is seen from inside a subgraph")
	// ErrCallEnded is returned by UpdateState inside a subgraph call that has ended, lost a race,
	// or is not due any more because the thread was forked or the call began again.
	ErrCallEnded = errors.New("the subgraph call has ended")
	// ErrNotReceivable is returned by Thread.Signal if no node of the graph, or of a subgraph in
	// it, lists the signal.
	ErrNotReceivable = errors.New("no node of the graph receives the signal")
	// ErrNoSaver is returned by calls that need stored checkpoints, if the graph was compiled
	// without a Saver.
	ErrNoSaver = errors.New("the graph has no saver")
	// ErrNotCompiled is returned by calls on a zero Graph, Thread or Untyped.
	ErrNotCompiled = errors.New("the graph is not compiled")
	// ErrNotHead is returned by Invoke, Stream, Submit and Result of a Thread that At returned.
	// They act on the head of a thread.
	ErrNotHead = errors.New("the call acts on the head of the thread, and not on a checkpoint")
	// ErrRequestReused is returned by Invoke and Stream if RequestID names a request that the
	// thread has stored with another input. Nothing runs.
	ErrRequestReused = errors.New("the request id was used with another input")
	// ErrDraining is returned by calls that would start a run after a Drain of the graph, or
	// during a Drain of the thread. A run that a drain ends has the status Ready and no error.
	ErrDraining = errors.New("the graph or the thread is draining")
	// ErrNotAsked is returned for an answer to a question that the thread does not ask, or does
	// not ask any more.
	ErrNotAsked = errors.New("the thread does not ask this question")
	// ErrGoexit is the error of a node or an Observer that called runtime.Goexit instead of
	// returning.
	ErrGoexit = exec.ErrGoexit
)

// Errors of functions that nodes call; test with errors.Is.
var (
	// ErrWaiting is returned by Ask while the question has no answer, by Receive while no signal
	// has come, by Sleep until its time has come, and by Child until the child has ended. The
	// node returns it, or any other error, and runs again after that.
	ErrWaiting = task.ErrWaiting
	// ErrExpired is returned by Ask and Receive after the time of ExpireAfter has passed without
	// an answer or a signal. Resume returns it for an answer that is given later.
	ErrExpired = task.ErrExpired
	// ErrNotAskable is returned by Ask, Receive, Sleep and Child if the call cannot wait. There
	// are four causes:
	//   - the node does not list the question or signal
	//   - the context is not that of a node
	//   - the run has no thread, except for Sleep
	//   - the node asked another question at this place before
	ErrNotAskable = task.ErrNotAskable
	// ErrNotDurable is returned by Do and DoNamed if the call cannot be made durable. The call was
	// not made. There are five causes:
	//   - the context is not that of a node
	//   - the name is not valid
	//   - the call is made inside another call
	//   - another call by Do, or a call by DoNamed with the same name, is in progress
	//   - an earlier execution of the node made other calls
	ErrNotDurable = task.ErrNotDurable
	// ErrChildExists is returned by Child if the thread of the id exists and was not begun by the
	// same task.
	ErrChildExists = errors.New("the thread exists, and this task has not begun it")
	// ErrNoLabel is returned by ThreadLabel if the thread has no label of that name.
	ErrNoLabel = errors.New("the thread has no such label")
	// ErrTooManyLabels is returned by SetLabel if the thread would have more than
	// checkpoint.MaxLabels labels.
	ErrTooManyLabels = task.ErrTooManyLabels
	// ErrProgressTooLong is returned by Progress for a note of more than MaxProgress bytes.
	ErrProgressTooLong = errors.New("the note is too long")
	// ErrNoTask is returned if the context is not that of a node, or if the node has returned.
	ErrNoTask = task.ErrNoTask
)

// Errors of options that limit time; test with errors.Is.
var (
	// ErrExecutionTimeout is the reason of a cancel by ExecutionTimeout. errors.Is finds it in a
	// *CancelledError, and in the *ChildError of a child.
	ErrExecutionTimeout = errors.New("its ExecutionTimeout has passed")
	// ErrIdleTimeout is the error of an attempt whose IdleTimeout has passed. errors.Is finds it
	// in the *NodeError, and context.DeadlineExceeded too. A worker of a Queue reports only the
	// latter.
	ErrIdleTimeout = exec.ErrIdle
	// ErrStartTimeout is the error of a task whose StartTimeout has passed. errors.Is finds it in
	// the *NodeError.
	ErrStartTimeout = errors.New("no worker has taken the task in time")
)

// Errors of Interceptors; test with errors.Is.
var (
	// ErrNextNotCalled is the error of work whose Interceptor returned nil without calling next.
	ErrNextNotCalled = errors.New("an Interceptor returned nil without calling next; return an error to refuse")
	// ErrNextCalledAgain is returned by the next of an Interceptor if it was called before, or if
	// the function of the Interceptor has returned.
	ErrNextCalledAgain = errors.New("an Interceptor called next again; call it once, before the Interceptor returns")
	// ErrForeignContext is returned by the next of an Interceptor's Task if its context is not a
	// child of the context that Task got.
	ErrForeignContext = errors.New("an Interceptor called next with a foreign context; pass a child of its own context")
)

// CompileError lists the faults of a graph, in the order of declaration.
type CompileError struct {
	Graph  string
	Faults []string // one sentence each
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("graph: %s does not compile:\n%s", e.Graph, strings.Join(e.Faults, "\n"))
}

// NodeError reports that a node failed: it returned an error, panicked (Err is a *PanicError),
// timed out, or its update could not be merged. The superstep was not committed. The results of
// its other nodes are stored, and Resume runs only the nodes without a stored result. A node that
// returned an error after the run had ended its context was cancelled, and has no NodeError.
type NodeError struct {
	Graph   string
	Thread  string // empty for Run
	Step    int    // number of the superstep: 0 is the empty checkpoint, 1 the input, 2 the first nodes of a new thread
	Node    ID
	Index   int    // number of the send that the task ran, else 0
	Attempt int    // from 1
	Summary string // that the task set; empty for none
	Err     error

	sent bool // the task ran a send
}

func (e *NodeError) Error() string {
	what := "node " + taskName(e.Node, e.Index, e.sent, e.Summary)
	if e.Attempt > 1 {
		what += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	return where(e.Graph, e.Thread, e.Step) + ": " + what + ": " + e.Err.Error()
}

// Unwrap returns the node's own error.
func (e *NodeError) Unwrap() error { return e.Err }

// NodeErrors returns the failed tasks that err reports, in task order. err is the error of a run;
// nil returns none. errors.As finds only the first of them. The error of a subgraph's node is one
// NodeError, whose Err has the failures in the subgraph: NodeErrors(e.Err) returns them.
func NodeErrors(err error) []*NodeError {
	switch e := err.(type) { //nolint:errorlint // it visits each error of the tree
	case *NodeError:
		return []*NodeError{e}
	case interface{ Unwrap() error }:
		return NodeErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*NodeError
		for _, part := range e.Unwrap() {
			all = append(all, NodeErrors(part)...)
		}
		return all
	}
	return nil
}

// FailedError reports that the newest run of a thread has failed. It is made from stored data, for
// a caller who did not run the thread: see Thread.Result.
type FailedError struct {
	Graph  string
	Thread string
	// Reason is the text of the error of the run, as in Snapshot.
	Reason string
	// Nodes are the failed tasks of the superstep, in task order; nil if no task failed. Err of
	// each has only the text of the error.
	Nodes []*NodeError
}

func (e *FailedError) Error() string {
	place := where(e.Graph, e.Thread, -1)
	if strings.HasPrefix(e.Reason, place) {
		return e.Reason
	}
	place += ": the run failed"
	if e.Reason != "" {
		place += ": " + e.Reason
	}
	return place
}

// Unwrap returns Nodes, so that NodeErrors and errors.As find them.
func (e *FailedError) Unwrap() []error {
	all := make([]error, len(e.Nodes))
	for i, n := range e.Nodes {
		all[i] = n
	}
	return all
}

// RefusedError reports that a run has refused a submitted input, because it could not take effect.
// Submit an input that can begin, with another request id.
type RefusedError struct {
	Graph   string
	Thread  string
	Request string // the request id of the input
	Reason  string // as Thread.Inbox lists it
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: input %q is refused: %s", where(e.Graph, e.Thread, -1), e.Request, e.Reason)
}

// RouteError reports that a route returned an error or chose a node that it must not. The
// superstep was not committed. The results of its nodes are stored, and Resume calls the routes
// again.
type RouteError struct {
	Graph  string
	Thread string
	Step   int
	Node   ID // the node of the route
	Err    error
}

func (e *RouteError) Error() string {
	return fmt.Sprintf("%s: route from %s: %v", where(e.Graph, e.Thread, e.Step), e.Node, e.Err)
}

// Unwrap returns the route's own error.
func (e *RouteError) Unwrap() error { return e.Err }

// ConflictError reports that two tasks of one superstep changed one field in ways that have no
// order. For example, both set a replace field, or one replaced a list that the other appended to.
// Nothing of the superstep was committed. Correct a node, or give the field another reducer
// ("last"); then Resume with Rerun for both nodes.
type ConflictError struct {
	Graph   string
	Thread  string
	Step    int
	Field   string
	Nodes   [2]ID
	Indexes [2]int // numbers of the sends that the tasks ran, else 0

	// Summaries are those that the tasks set in this run; empty for none.
	Summaries [2]string

	sent [2]bool // the tasks ran sends
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: nodes %s and %s both set %s in one superstep; let one of them set it, or give the field a reducer such as last",
		where(e.Graph, e.Thread, e.Step), taskName(e.Nodes[0], e.Indexes[0], e.sent[0], e.Summaries[0]),
		taskName(e.Nodes[1], e.Indexes[1], e.sent[1], e.Summaries[1]), e.Field)
}

// OverflowError reports that the sum of a field exceeds the range of its type. Nothing of the
// superstep was committed. Give the field a wider type or correct a node; then Resume with Rerun
// for the nodes.
type OverflowError struct {
	Graph   string
	Thread  string
	Step    int
	Field   string
	Nodes   []ID  // the nodes that added to the field, in the order of merging; the last one exceeded the range
	Indexes []int // numbers of the sends that the tasks ran, else 0
	Err     error // a *state.OverflowError

	// Summaries are those that the tasks set in this run, one for each of Nodes; empty for none.
	Summaries []string

	sent []bool // the tasks ran sends
}

func (e *OverflowError) Error() string {
	names := make([]string, len(e.Nodes))
	for i := range e.Nodes {
		names[i] = taskName(e.Nodes[i], e.Indexes[i], i < len(e.sent) && e.sent[i], e.Summaries[i])
	}
	return fmt.Sprintf("%s: an addition to %s by node %s: %v", where(e.Graph, e.Thread, e.Step), e.Field, strings.Join(names, " and node "), e.Err)
}

// Unwrap returns the error of package state.
func (e *OverflowError) Unwrap() error { return e.Err }

// taskName returns the display name of a task: its node, the number of its send and its summary.
// It leaves out the number of a task that ran no send, and an empty summary.
func taskName(node ID, index int, sent bool, summary string) string {
	name := strconv.Quote(node.String())
	if sent || index != 0 {
		name += fmt.Sprintf(" (send %d)", index)
	}
	if summary != "" {
		name += fmt.Sprintf(" %q", summary)
	}
	return name
}

// MutationError reports that a node or route wrote to the state that it got. Only Strict runs
// detect it.
type MutationError struct {
	Fields []string
}

func (e *MutationError) Error() string {
	return fmt.Sprintf("the state that it was given has changed in %s; return changes in the update, or work on a Clone", strings.Join(e.Fields, ", "))
}

// UnjoinedError reports that a Strict run ended while only some sources of a join had run.
type UnjoinedError struct {
	Graph  string
	Thread string
	Joins  []ID // the targets of the joins
}

func (e *UnjoinedError) Error() string {
	return fmt.Sprintf("%s: the run ended while the join to %v waited for the rest of its nodes; see that all of them run, or none", where(e.Graph, e.Thread, -1), e.Joins)
}

// PanicError is a panic of code that the run called: a node, a route, a reducer, a codec, an
// Observer, a RetryPolicy. The error that wraps it names the place. Its text is one line, without
// the stack.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked, as debug.Stack prints it
}

func (e *PanicError) Error() string {
	text := fmt.Sprint(e.Value)
	if strings.ContainsAny(text, "\r\n") {
		text = strconv.Quote(text)
	}
	return "panic: " + text
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// MaxStepsError reports that a run reached MaxSteps and has more to do. All its supersteps are
// committed, and Resume continues the run.
type MaxStepsError struct {
	Graph  string
	Thread string
	Max    int
	Next   []ID
}

func (e *MaxStepsError) Error() string {
	return fmt.Sprintf("%s: %d supersteps are done and %v is still due; raise MaxSteps if that is no endless loop, and resume", where(e.Graph, e.Thread, -1), e.Max, e.Next)
}

// SaverError reports that the saver failed. The outcome of the write is unknown; Resume reconciles
// it. errors.Is and errors.As find the errors of the saver's contract, such as
// checkpoint.ErrConflict.
type SaverError struct {
	Graph  string
	Thread string
	Step   int
	Op     string // "load", "open", "commit", "put writes", "release", ...
	Err    error
}

func (e *SaverError) Error() string {
	return fmt.Sprintf("%s: %s: %v", where(e.Graph, e.Thread, e.Step), e.Op, e.Err)
}

// Unwrap returns the saver's error.
func (e *SaverError) Unwrap() error { return e.Err }

// where returns the beginning of every error of a run. A negative step is left out. An id that no
// saver accepts is cut.
func where(graph, thread string, step int) string {
	s := "graph"
	if graph != "" {
		s += ": " + graph
	}
	switch {
	case len(thread) > checkpoint.MaxThread:
		s += fmt.Sprintf(": thread %q...", thread[:64])
	case thread != "":
		s += fmt.Sprintf(": thread %q", thread)
	}
	if step >= 0 {
		s += fmt.Sprintf(": step %d", step)
	}
	return s
}
