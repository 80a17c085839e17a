package graph

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
)

// Errors of calls, wrapped in what is returned; test with errors.Is.
var (
	// ErrUnfinished: input for a thread on which something is still due, or UpdateState as one of several tasks that are due.
	ErrUnfinished = errors.New("the thread is not finished")
	// ErrGraphChanged: a stored thread is of another graph, needs a node or a field that the code does not have, or holds one of
	// another type. Stored bytes that no code wrote are checkpoint.ErrDamaged instead: an error of reading them is one of the two.
	ErrGraphChanged = errors.New("the graph has changed")
	// ErrReleased: a call that continues from a checkpoint of a released version, which is read-only.
	ErrReleased = errors.New("the version was released")
	// ErrOwnThread: a node runs, edits or releases the thread that its own run holds, also through the node of another thread.
	ErrOwnThread = errors.New("the thread is held by the run that the call comes from")
	// ErrInside: a call that runs, edits or releases, on a Thread that Inside returned.
	ErrInside = errors.New("the thread is seen from inside a subgraph")
	// ErrNoSaver: a call that needs stored checkpoints, on a graph compiled without a Saver.
	ErrNoSaver = errors.New("the graph has no saver")
	// ErrGoexit is the error of a node, or of an Observer, that called runtime.Goexit instead of returning.
	ErrGoexit = exec.ErrGoexit
)

// CompileError is everything that is wrong with a graph, in the order of declaration.
type CompileError struct {
	Graph  string
	Faults []string // one sentence each
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("graph: %s does not compile:\n%s", e.Graph, strings.Join(e.Faults, "\n"))
}

// NodeError says that a node failed: it returned an error, panicked (Err is a *PanicError), timed out, or its
// update could not be merged. Its superstep was not committed; what its siblings finished is stored, and Resume runs only what is not.
type NodeError struct {
	Graph   string
	Thread  string // empty for Run
	Step    int    // of the superstep: 0 is the empty checkpoint, 1 the input, 2 the first nodes of a new thread
	Node    ID
	Index   int // of the send that the task was of, else 0
	Attempt int // from 1
	Err     error
}

func (e *NodeError) Error() string {
	what := "node " + taskName(e.Node, e.Index)
	if e.Attempt > 1 {
		what += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	return where(e.Graph, e.Thread, e.Step) + ": " + what + ": " + e.Err.Error()
}

// Unwrap returns the node's own error.
func (e *NodeError) Unwrap() error { return e.Err }

// RouteError says that a route failed or chose what it may not. Its superstep was not committed; the results of its
// nodes are stored, and Resume calls the routes again.
type RouteError struct {
	Graph  string
	Thread string
	Step   int
	Node   ID // whose route it is
	Err    error
}

func (e *RouteError) Error() string {
	return fmt.Sprintf("%s: route from %s: %v", where(e.Graph, e.Thread, e.Step), e.Node, e.Err)
}

// Unwrap returns the route's own error.
func (e *RouteError) Unwrap() error { return e.Err }

// ConflictError says that two tasks of one superstep changed one field in ways that have no order: both set a
// replace field, or one replaced a list that the other added to. Nothing of the superstep was committed. Mend a
// node, or give the field another reducer ("last"); then Resume with Rerun for both nodes.
type ConflictError struct {
	Graph   string
	Thread  string
	Step    int
	Field   string
	Nodes   [2]ID
	Indexes [2]int // of the sends that the tasks were of, else 0
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: nodes %s and %s both set %s in one superstep; let one of them set it, or give the field a reducer such as last",
		where(e.Graph, e.Thread, e.Step), taskName(e.Nodes[0], e.Indexes[0]), taskName(e.Nodes[1], e.Indexes[1]), e.Field)
}

// OverflowError says that what tasks of one superstep add to a field does not fit in the field's type. Nothing of the superstep
// was committed. Give the field a wider type or mend a node; then Resume with Rerun for the nodes.
type OverflowError struct {
	Graph   string
	Thread  string
	Step    int
	Field   string
	Nodes   []ID  // whose tasks added to the field, in the order of merging; the last one's did not fit
	Indexes []int // of the sends that the tasks were of, else 0
	Err     error // a *state.OverflowError
}

func (e *OverflowError) Error() string {
	names := make([]string, len(e.Nodes))
	for i := range e.Nodes {
		names[i] = taskName(e.Nodes[i], e.Indexes[i])
	}
	return fmt.Sprintf("%s: what is added to %s by node %s: %v", where(e.Graph, e.Thread, e.Step), e.Field, strings.Join(names, " and node "), e.Err)
}

// Unwrap returns the error of package state.
func (e *OverflowError) Unwrap() error { return e.Err }

// taskName writes a task for people: its node, and which send it was of unless that was the first or none.
func taskName(node ID, index int) string {
	if index == 0 {
		return strconv.Quote(node.String())
	}
	return fmt.Sprintf("%q (send %d)", node.String(), index)
}

// MutationError says that a node or route wrote to the state it was given. Only Strict runs look for it.
type MutationError struct {
	Fields []string
}

func (e *MutationError) Error() string {
	return fmt.Sprintf("it wrote to the state it was given (%s); change the state through the update, or work on a Clone", strings.Join(e.Fields, ", "))
}

// UnjoinedError says that a Strict run ended with a join that only some of its nodes had reached.
type UnjoinedError struct {
	Graph  string
	Thread string
	Joins  []ID // the nodes that the joins lead to
}

func (e *UnjoinedError) Error() string {
	return fmt.Sprintf("%s: the run ended while the join to %v waited for the rest of its nodes; see that all of them run, or none", where(e.Graph, e.Thread, -1), e.Joins)
}

// PanicError is a panic of code that the run called: a node, a route, a reducer, a codec, an Observer, an Unless. The
// error that wraps it names the place. Its text is one line, without the stack.
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

// Unwrap returns the value panicked with, when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// MaxStepsError says that a run took as many supersteps as it may and has more to do. All of them are committed:
// Resume goes on.
type MaxStepsError struct {
	Graph  string
	Thread string
	Max    int
	Next   []ID
}

func (e *MaxStepsError) Error() string {
	return fmt.Sprintf("%s: %d supersteps are done and %v is still due; raise MaxSteps if that is no endless loop, and resume", where(e.Graph, e.Thread, -1), e.Max, e.Next)
}

// SaverError says that the saver failed. The superstep it was to store may or may not be stored; Resume finds out. Errors
// of the saver's contract (checkpoint.ErrConflict and others) are found by errors.Is and errors.As.
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

// where begins every error of a run. step is negative where it says nothing.
func where(graph, thread string, step int) string {
	s := "graph: " + graph
	if thread != "" {
		s += fmt.Sprintf(": thread %q", thread)
	}
	if step >= 0 {
		s += fmt.Sprintf(": step %d", step)
	}
	return s
}
