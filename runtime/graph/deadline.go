package graph

import (
	"maps"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// The deadline of a run line is metadata of its checkpoints, so it survives every crash. The wake
// of a thread that rests is never later than its deadline, and a run in progress has a timer.

// Metadata of the deadline of a run line.
const (
	deadlineKey = ReservedPrefix + "deadline" // of a checkpoint: when it is, in the form of time.RFC3339Nano
	timeoutKey  = ReservedPrefix + "timeout"  // of a submitted input: its ExecutionTimeout, in the form of time.Duration
)

// ExecutionTimeout cancels the work of an input that is not done after d. The time begins when
// Submit posts the input, also if the input then waits behind others. With Invoke it begins when
// the run opens the thread. The time is measured on the clock of the saver.
//
// At the deadline the thread is cancelled as by Thread.Cancel, with the reason
// ErrExecutionTimeout. It does not matter whether a run is in progress, the thread waits or is
// paused, or its run was interrupted. If no run is in progress, the thread is due at the deadline,
// and a worker or the next Resume ends it. Invoke and Submit then begin as on any cancelled
// thread.
//
// The deadline belongs to the input. Every run that continues the work has it, also after a crash
// and an edit. Another input, a replay, a fork and the Resume of a cancelled thread do not have
// it. A thread that has Failed and has no retries left stays Failed. Snapshot.Deadline shows the
// deadline.
//
// d must be positive. Without the option an input has no deadline. A retry of a node and a Resume
// do not begin the time again; see Timeout for one attempt of a node.
func ExecutionTimeout(d time.Duration) interface {
	InvokeOption
	SubmitOption
	ChildOption
} {
	return singleRunOption("ExecutionTimeout", func(o *runOptions) {
		if o.timeout = d; d <= 0 {
			o.fault("ExecutionTimeout is %v; give a positive time", d)
		}
	})
}

// Is reports whether target is ErrExecutionTimeout, and the cancel was that of a deadline.
func (e *CancelledError) Is(target error) bool {
	return target == ErrExecutionTimeout && e.Reason == target.Error()
}

// Is reports whether target is ErrExecutionTimeout, and the child was cancelled at its deadline.
func (e *ChildError) Is(target error) bool {
	cancelled := CancelledError{Graph: e.Graph, Thread: e.Thread, Reason: ErrExecutionTimeout.Error()}
	return target == ErrExecutionTimeout && e.Status == Cancelled && e.Reason == cancelled.Error()
}

// withEntry returns metadata with an entry; an empty value removes it.
func withEntry(metadata map[string]string, key, value string) map[string]string {
	changed := maps.Clone(metadata)
	if changed == nil {
		changed = make(map[string]string)
	}
	if changed[key] = value; value == "" {
		delete(changed, key)
	}
	return changed
}

// limit gives the run line of the run a deadline; zero for none.
func (r *run) limit(deadline time.Time) {
	if r.deadline.IsZero() && deadline.IsZero() {
		return
	}
	r.deadline = deadline
	text := ""
	if !deadline.IsZero() {
		text = deadline.UTC().Format(time.RFC3339Nano)
	}
	r.opt.metadata = withEntry(r.opt.metadata, deadlineKey, text)
}

// limitInput gives a run that begins with the input of its call the deadline of ExecutionTimeout.
func (r *opener) limitInput(c *checkpoint.Chain) error {
	if r.run.opt.timeout == 0 {
		return nil
	}
	now := c.Thread.Now
	if now.IsZero() {
		var err error
		if now, err = readTime(r.run); err != nil {
			return err
		}
	}
	r.run.limit(now.Add(r.run.opt.timeout))
	return nil
}

// limitPosted gives a run that begins with a posted input the deadline of the submission.
func (r *opener) limitPosted(posted time.Time) {
	if d, err := time.ParseDuration(r.run.opt.metadata[timeoutKey]); err == nil {
		r.run.opt.metadata = withEntry(r.run.opt.metadata, timeoutKey, "")
		r.run.limit(posted.Add(d))
	}
}

// deadlineIn returns the deadline of the work that is due at the head of a thread. It is zero for
// none, for another checkpoint, and for work that was cancelled.
func deadlineIn(c *checkpoint.Chain) (at time.Time) {
	if c.Unfinished() && c.Last.ID == c.Head && c.Thread.Status != Cancelled {
		at, _ = time.Parse(time.RFC3339Nano, journal.Metadata(c.Last.Meta)[deadlineKey])
	}
	return at
}

// late reports whether the deadline of the work that is due at c has passed.
func (r *opener) late(c *checkpoint.Chain) bool {
	at := deadlineIn(c)
	return !at.IsZero() && !r.run.opt.rehearse && !c.Thread.Now.Before(at)
}

// timedOut returns the error of a run line whose deadline has passed.
func (r *run) timedOut() *CancelledError {
	return &CancelledError{Graph: r.g.name, Thread: r.thread, Reason: ErrExecutionTimeout.Error()}
}

// expire cancels a run in progress at its deadline, until the returned function is called.
func (r *opener) expire(cancel func(cause error)) (stop func()) {
	if r.run.deadline.IsZero() || r.run.status != 0 || r.run.opt.rehearse {
		return func() {}
	}
	end := func() { cancel(r.run.timedOut()) }
	left := r.run.deadline.Sub(r.run.log.Now())
	if left <= 0 {
		end()
		return func() {}
	}
	timer := time.AfterFunc(left, end)
	return func() { timer.Stop() }
}
