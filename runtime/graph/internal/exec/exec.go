// Package exec runs the tasks of one superstep: workers, attempts, retries, timeouts, panics,
// races and cancellation. It knows neither states nor storage: a Host calls the nodes and stores
// what ended.
//
// Invariants:
//   - Run returns when no task runs any more. Nothing that it started outlives it.
//   - Until a task has ended, only the goroutine that runs it writes the fields of its Task. Then
//     only the goroutine of Run does.
//   - A superstep starts one worker for each processor. Another one starts when a task is left and
//     all workers have one, up to as many as there may be.
//   - A task that failed finally cancels its siblings, unless it is in a race or its node
//     Continues. A task of an Uncut node ends only with the context of Run.
//   - An attempt that ends with an error after the end of its task's context is cancelled,
//     whatever the error. It has failed only if the error counts, as that of a panic does.
//   - Of a race one result counts, the first that the Host has stored. If several ended meanwhile,
//     the first in task order counts. The other tasks are Beaten when Run returns.
//   - A task has at most one attempt at a time, and an attempt has its own context. A Fallback is
//     the attempt after the last one of the node.
package exec

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Causes of the cancellation of a task's context.
var (
	ErrSibling = errors.New("a node of the same superstep failed")
	ErrBeaten  = errors.New("another node of the any-of join was faster")
	// ErrGoexit is the error of a node that called runtime.Goexit instead of returning.
	ErrGoexit = errors.New("runtime.Goexit was called; return an error instead")
)

// ErrIdle ends the context of an attempt that has reported no progress for the Idle of its node.
var ErrIdle error = idleError{}

// idleError is the type of ErrIdle.
type idleError struct{}

func (idleError) Error() string { return "the node called neither Emit nor Progress" }

// Is makes the error that of a Timeout, too.
func (idleError) Is(target error) bool { return target == context.DeadlineExceeded }

// Node is what exec knows of a node.
type Node struct {
	ID      string
	Timeout time.Duration // of one attempt; 0 for none
	Idle    time.Duration // how long an attempt may report no progress; 0 for no limit
	Race    int           // the any-of join that it leads to, from 1; 0 for none

	Fallback  bool // the Host has a function that handles the last failure
	Cached    bool // the Host may have the result of a task without an attempt
	Continues bool // a task that failed finally does not cancel its siblings
	Takes     bool // the Host may have the outcome of a task, which counts also after a sibling failed
	Uncut     bool // neither a sibling nor a decided race cancels a task that has begun

	Limits []Limiter // which each attempt waits for
	Retry  []Retry   // the first one that is for an error counts
}

// Task is one task of a superstep.
type Task struct {
	plan.Task
	Attempt  int // from 1; 0 if it has not run
	Progress Progress
	Stored   bool // the Host has stored its result or its questions
	task.Carried
	Parts    map[string]string // of the result of the last attempt, by name; nil for none
	Err      error             // of the last attempt
	Attempts []AttemptError    // the newest failed ones of this process, oldest first
	Before   int               // how many attempts have failed before Attempts
	Failure  error             // what the Fallback handles: of the last attempt of the node; nil before that
	cut      error             // why the last attempt was cancelled; nil if it was not
}

// AttemptError is a failed attempt.
type AttemptError struct {
	Number int // from 1
	Failed time.Time
	Err    error
}

// keptAttempts is the number of failed attempts that a task remembers.
const keptAttempts = 20

// remember adds the last attempt to the failed ones.
func (t *Task) remember() {
	if len(t.Attempts) == keptAttempts {
		t.Attempts = append(t.Attempts[:0], t.Attempts[1:]...)
		t.Before++
	}
	t.Attempts = append(t.Attempts, AttemptError{t.Attempt, time.Now(), t.Err})
}

// Progress says how far a task has come.
type Progress uint8

// A task is Waiting until it has run, and again after it was cancelled.
const (
	Waiting   Progress = iota
	Succeeded          // it has a result
	Failed             // Err says why
	Asking             // it has open questions, or its subgraph has
	Stopped            // its subgraph stopped for people
	Drained            // its subgraph was drained
	Beaten             // another task of its race was faster: it counts for nothing
	Merging            // it has a result, which the Host is merging
	Elsewhere          // it waits for a worker of a queue; Stored says that it was handed out
)

// Outcome says how an attempt ended. The values are those of graph.Outcome.
type Outcome uint8

// How an attempt can end.
const (
	OutcomeDone Outcome = iota + 1
	OutcomeWaiting
	OutcomePaused
	OutcomeReady
	OutcomeFailed
	OutcomeCancelled
	OutcomeSuperseded
)

// Outcome returns how the last attempt ended.
func (t *Task) Outcome() Outcome { return t.OutcomeOf(t.Err, t.cut) }

// OutcomeOf returns how an attempt ends if its node returns err. cut is that of Superstep.Cut.
func (t *Task) OutcomeOf(err, cut error) Outcome {
	exits := err == ErrGoexit //nolint:errorlint // as attempt sets it
	switch {
	case t.Progress == Failed, exits && cut == nil:
		return OutcomeFailed
	case t.Progress == Asking, t.Progress == Elsewhere: // of a subgraph, or set by the Host
		return OutcomeWaiting
	case t.Progress == Stopped:
		return OutcomePaused
	case t.Progress == Drained:
		return OutcomeReady
	case !exits && t.Asks != nil && len(t.Asks.Open()) > 0:
		return OutcomeWaiting // whatever it returned
	case err == nil:
		return OutcomeDone
	case cut == nil:
		return OutcomeFailed
	case cut == ErrBeaten: //nolint:errorlint // the very same error
		return OutcomeSuperseded
	}
	return OutcomeCancelled
}

// Host is the run that a superstep belongs to. All methods but StoreEnded are called concurrently,
// for different tasks; StoreEnded on the goroutine of Run.
type Host interface {
	// Key makes the key of a task, and Calls returns its durable calls.
	task.Host
	// Call calls the node of task i under ctx, or its Fallback if the task has a Failure. If it is
	// a subgraph that asks or stops, it sets the Progress of the task.
	Call(ctx context.Context, i int) error
	// Cached looks up the result of task i in the cache of its node, and Cache puts it there.
	Cached(ctx context.Context, i int) (hit bool, err error)
	Cache(ctx context.Context, i int) error
	// Wakes returns when task i, which asks, may be due again because of a timer; zero for never.
	// Wake stores the answers to timers of the given tasks that are due. It returns the tasks that
	// run again. Both are called on the goroutine of Run or of the caller of Superstep.Wake.
	Wakes(i int) time.Time
	Wake(tasks []int) ([]int, error)
	// Park sets a timer for the next attempt of task i, which failed, after delay. It reports
	// false if the task must wait in memory.
	Park(i int, delay time.Duration) bool
	// HandsOut reports whether another process executes the attempt of task i, and keeps its
	// times. Call then returns the outcome that is stored, or makes the task wait.
	HandsOut(i int) bool
	// May reports whether the node of a task, which fails with err, may be retried, and whether
	// its Fallback may handle the failure.
	May(t *Task, err error) (retry, fallBack bool)
	// Counts reports whether err, of an attempt whose task was cancelled or whose time has passed,
	// is a failure as it is: that of a panic, or one that was stored before.
	Counts(err error) bool
	// Panicked returns the error of a node that panicked with v.
	Panicked(v any) error
	// StoreEnded stores the outcomes of the given tasks, while others still run. ErrLeft cancels
	// the others and is no failure.
	StoreEnded(tasks []int) error
}

// Seen is a task as others see it while it runs, on the goroutine that runs it.
type Seen struct {
	*Task
	I    int    // its place among the tasks of the superstep
	Node string // the id of its node
	Step int
}

// Observer receives what tasks do, on the goroutines that run them. ctx is the context of the
// task, or of its attempt.
type Observer interface {
	// Started says that an attempt begins. The returned function is called when it has ended.
	Started(ctx context.Context, t Seen) func()
	// Stuck says that the node of t has not returned, for so long after the end of ctx. It is
	// called at most once for an attempt, before the attempt ends.
	Stuck(ctx context.Context, t Seen, since time.Duration, summary string)
	// Retrying says that the last attempt failed, and that another one begins after delay.
	Retrying(ctx context.Context, t Seen, delay time.Duration)
	// FallingBack says that the Fallback begins, because of the Failure of t.
	FallingBack(ctx context.Context, t Seen)
	// Cached says that t has its result from the cache of its node, or that the cache failed with
	// err.
	Cached(ctx context.Context, t Seen, err error)
}

// Watcher receives what tasks do while they run. It hands functions to post, which calls them on
// the goroutine of Run; it drops them when the superstep is over. A function that returns false
// cancels the superstep. Its methods are called as those of an Observer.
type Watcher interface {
	Started(t Seen, w *task.Worker, post func(func() bool))
	Stopped(t Seen, o Outcome, post func(func() bool))
	Retrying(t Seen, delay time.Duration, post func(func() bool))
	Stuck(t Seen, since time.Duration, summary string, post func(func() bool))
	FallingBack(t Seen, err error, post func(func() bool))
	Cached(t Seen, err error, post func(func() bool))
}
