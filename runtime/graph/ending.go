package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/ending"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// Status describes how a run ended, and so what its thread needs next. Storage, results and
// snapshots have the same statuses.
type Status = checkpoint.Status

const (
	// Ready: work is due, and no decision is needed. The graph was drained, the context of the run
	// ended, the stream was left, or the thread was forked. Resume continues it.
	Ready = checkpoint.Ready
	// Running: a run is in progress, or its process died. A Result never has it.
	Running = checkpoint.Running
	// Waiting: a task waits for an answer, a signal, a time or a worker of a queue, and nothing
	// else can run. Resume with an answer, or after the time, continues it.
	Waiting = checkpoint.Waiting
	// Paused: a static stop (InterruptBefore, InterruptAfter) holds the run for a person. Resume
	// clears the stop.
	Paused = checkpoint.Paused
	// Failed: the run ended with an error other than the end of its context. Resume runs the nodes
	// without a stored result.
	Failed = checkpoint.Failed
	// Cancelled: somebody has cancelled the pending work of the thread. Input begins as on a
	// finished thread, and Resume continues the cancelled work. A worker does neither by itself.
	Cancelled = checkpoint.Cancelled
	// Done: nothing is due.
	Done = checkpoint.Done
)

// decide returns the outcome of the run after the superstep that was just merged, provided that it
// is committed.
func (r *run) decide(turn plan.Decision) (o journal.Change) {
	why := ending.Reasons{
		Done: turn == plan.Done, Stop: turn == plan.Stop, Failed: r.steps >= r.opt.maxSteps,
		Interrupted: r.ctx.Err() != nil || r.drains.stopping(),
	}
	if why.Status() != 0 {
		o = r.conclude(why)
	}
	return o
}

// conclude returns the outcome of a run that ends with the superstep that was just merged. It adds
// to why that the run was cancelled.
func (r *run) conclude(why ending.Reasons) journal.Change {
	var asked *CancelledError
	var messages checkpoint.Handled
	if why.Interrupted { // the context first, which a cancel can end meanwhile
		asked, messages = r.opt.listen.cancelled(r)
		why.Cancelled = asked != nil
	}
	status := why.Status()
	if status == Cancelled {
		r.ending = asked
		r.opt.listen.obeyed(r)
		return journal.Change{Status: Cancelled, End: true, Wake: wakeAfter(r, Cancelled), Messages: messages}
	}
	switch {
	case status == Done:
		if unjoined := r.unjoined(); r.opt.strict && len(unjoined) > 0 {
			r.ending = &UnjoinedError{Graph: r.g.name, Thread: r.thread, Joins: unjoined}
		}
	case status == Paused:
		r.plan.StopHere()
	case status == Failed:
		r.ending = &MaxStepsError{Graph: r.g.name, Thread: r.thread, Max: r.opt.maxSteps, Next: r.nextIDs()}
	case status == Ready && r.ctx.Err() != nil:
		r.ending = r.cancelled()
	}
	o := journal.Change{Status: status, End: true, Wake: wakeAfter(r, status)}
	if r.reports(status) {
		o.Keep = true // until the caller knows the end
		r.failsFinally(&o)
	}
	return o
}

// restAfter returns the thread of r as it is if the run ends with a status, without what its tasks
// wait for.
func restAfter(r *run, status Status) ending.Rest {
	rest := ending.Rest{Status: status, Deadline: r.deadline}
	if r.log != nil && r.call == nil {
		_, rest.Inputs = r.log.Seen()
	}
	return rest
}

// wakeAfter returns when the thread is due after r ends with a status.
func wakeAfter(r *run, status Status) time.Time {
	rest := restAfter(r, status)
	switch {
	case status == Waiting && r.call == nil && r.log != nil:
		asked := r.asked()
		rest.Signal, rest.Next = r.opt.box.wakes(asked), earliest(asked)
		rest.Next = inbox.Earlier(rest.Next, r.pollsAgain())
	case status == Ready:
		rest.Continue = r.opt.due != nil || r.ctx.Err() == nil && r.drains.stopping()
	}
	wake := rest.Wake()
	if wake.IsZero() && r.reports(status) && status != Failed {
		return r.untold()
	}
	return wake
}

// reasonsOf returns the reasons why r ends, because of cause, with a superstep that cannot be
// committed.
func reasonsOf(r *run, cause error) ending.Reasons {
	asks, stops := r.exec.Has(exec.Asking) || r.exec.Has(exec.Elsewhere), r.exec.Has(exec.Stopped)
	return ending.Reasons{
		Failed:      (r.exec.Has(exec.Failed) || cause != nil && !interruptedBy(r.ctx, cause)) && !r.opt.due.stopped(r, cause),
		Interrupted: r.exec.Has(exec.Waiting) || r.exec.Has(exec.Drained) || !asks && !stops || r.handsOut(),
		Asks:        asks,
		StopInside:  stops,
	}
}

// interruptedBy reports whether err only reports that ctx, the context of a run, ended, or that
// the consumer left the loop.
func interruptedBy(ctx context.Context, err error) bool {
	var saver *SaverError
	if errors.As(err, &saver) || tooLarge(err) {
		return false
	}
	return errors.Is(err, exec.ErrLeft) || ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// cancelled returns the error of a run whose context ended.
func (r *run) cancelled() error {
	return stoppedBy(r.ctx, where(r.g.name, r.thread, r.plan.Step+1))
}

// stoppedBy returns the error of a call whose context ended. place is the beginning of its text.
func stoppedBy(ctx context.Context, place string) error {
	var lost *SaverError
	cause := cmp.Or(context.Cause(ctx), context.Canceled)
	if errors.As(cause, &lost) {
		return lost
	}
	err := fmt.Errorf("%s: stopped: %w", place, cmp.Or(ctx.Err(), context.Canceled))
	if ctx.Err() != nil && cause != ctx.Err() { //nolint:errorlint // the very same error
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// abort ends the run of a goroutine that ends because of cause.
func (r *run) abort(cause error) {
	if !r.log.Holds() {
		_ = r.log.Close()
		return
	}
	defer func() {
		_ = r.log.Close()
		r.log.LetGo(r.ctx) // if giveUp below did not release it
	}()
	_ = exited(r, cause) // nobody can receive the error
}

// exited gives up a run whose goroutine ends: because of cause, or because a node, a route or a
// reducer has called Goexit.
func exited(r *run, cause error) error {
	unfinished, err := r.exec.Failures(func(t *exec.Task) error { return r.nodeError(t, t.Err) })
	switch cause = cmp.Or(err, cause); {
	case cause != nil:
	case r.health != sound:
		cause = ErrGoexit // of a route or a reducer
	case unfinished && r.ctx.Err() != nil:
		cause = r.cancelled()
	}
	return r.giveUp(cause)
}

// apart runs the loop of r on a goroutine of its own, which a node may end. If events are yielded,
// it is that of the caller, and the nodes run on others.
func apart(r *run) error {
	if r.sink != nil {
		return r.loop()
	}
	r.over.Add(1)
	go r.alone()
	r.over.Wait()
	if r.panicked != nil {
		panic(r.panicked) //nolint:forbidigo // it is that of the other goroutine
	}
	return r.ending
}

// alone is the goroutine of apart. It leaves the error of the run in ending.
func (r *run) alone() {
	err, ended := ErrGoexit, false
	defer func() {
		r.ending = err
		r.over.Done()
	}()
	defer func() {
		if ended {
			return
		}
		if r.panicked = recover(); r.panicked == nil {
			err = exited(r, nil)
		}
	}()
	err = r.loop()
	ended = true
}
