package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// perform runs one task, as often as its node's Retry allows, and then the Fallback of the node.
// seen shows its attempts; nil for nobody.
func (s *Superstep) perform(w *task.Worker, i int, seen *attempts) {
	t := &s.Tasks[i]
	n := &s.nodes[t.Node]
	ctx := w.Parent()
	if n.Cached && !s.Rehearse && s.cached(ctx, i, seen) {
		return
	}
	t.Attempt = max(s.First, 1)
	if t.Asks != nil {
		t.Attempt = max(t.Attempt, t.Asks.Attempt())
	}
	for ; ; t.Attempt++ {
		if t.Asks != nil && t.Failure == nil {
			t.Asks.Restart() // a Fallback asks after what the node has asked
		}
		if n.Limits == nil || t.Failure != nil || s.Rehearse {
			seen.begin()
			s.attempt(w, n, i, seen)
		} else if !s.admit(w, n, i, seen) {
			return
		}
		if t.Err == nil && t.Progress == Waiting && t.Asks == nil {
			t.Progress = Succeeded // as most do: Outcome would say so
			if n.Cached && t.Failure == nil {
				s.cache(ctx, i, seen)
			}
			return
		}
		switch outcome := t.Outcome(); {
		case outcome == OutcomeWaiting:
			if t.Err = nil; t.Progress != Elsewhere {
				t.Progress = Asking
			}
			return
		case outcome == OutcomeDone:
			t.Progress = Succeeded
			return
		case outcome != OutcomeFailed:
			return // stopped or drained as its subgraph says, or cancelled: neither a result nor a failure
		}
		t.remember()
		if ctx.Err() != nil && s.host.Counts(t.Err) {
			t.fail() // nothing follows in a cancelled run
			return
		}
		var delay time.Duration
		switch retry, fallBack := s.host.May(t, t.Err); {
		case retry && t.Failure == nil && s.retries(n.Retry, t, &delay):
			if !s.pause(ctx, delay, i, seen) {
				return
			}
		case fallBack && t.Failure == nil && n.Fallback:
			if ctx.Err() != nil {
				return // the run has ended since; the node runs again
			}
			s.fallBack(ctx, i, seen)
		default:
			t.fail()
			return
		}
	}
}

// pause waits before another attempt of task i, and reports whether the attempt may begin. It must
// not begin if ctx has ended, or if the Host keeps the time of the attempt.
func (s *Superstep) pause(ctx context.Context, delay time.Duration, i int, seen *attempts) bool {
	if s.Observer != nil {
		s.Observer.Retrying(ctx, s.seen(i), delay)
	}
	seen.retry(delay)
	if s.Timed && s.host.Park(i, delay) {
		s.Tasks[i].Progress = Asking
		return false
	}
	return Rest(ctx, delay)
}

// fallBack makes the next attempt of task i its Fallback.
func (s *Superstep) fallBack(ctx context.Context, i int, seen *attempts) {
	t := &s.Tasks[i]
	t.Failure, t.Progress = t.Err, Waiting
	if s.Observer != nil {
		s.Observer.FallingBack(ctx, s.seen(i))
	}
	seen.fallBack(t.Failure)
}

// fail makes the error of the last attempt the error of the task. It joins the error of a Fallback
// to the error that the Fallback got.
func (t *Task) fail() {
	t.Progress = Failed
	if t.Failure != nil && !errors.Is(t.Err, t.Failure) {
		t.Err = fmt.Errorf("%w; its Fallback: %w", t.Failure, t.Err)
	}
}

// attempt calls the node once, under a context of its own.
func (s *Superstep) attempt(w *task.Worker, n *Node, i int, seen *attempts) {
	t := &s.Tasks[i]
	ctx := w.Begin(&task.Attempt{
		Node: n.ID, Index: t.Index, Step: s.step, Number: t.Attempt, Fallback: t.Failure != nil, Carried: t.Carried,
	})
	timed := (n.Timeout > 0 || n.Idle > 0) && !s.host.HandsOut(i)
	if timed || s.Observer != nil || s.Stuck {
		defer func() { t.Carried, t.Parts = w.End() }()
		s.attended(ctx, w, n, i, timed, seen)
		return
	}
	t.Err = ErrGoexit
	defer s.unattended(w, t)
	t.Err = s.host.Call(ctx, i)
}

// unattended ends an attempt without a timeout that nobody observes. It is deferred.
func (s *Superstep) unattended(w *task.Worker, t *Task) {
	if t.Err != nil {
		s.broke(w.Parent(), t, recover())
	}
	t.Carried, t.Parts = w.End()
}

// attended calls the node once, with its timeouts if it is timed, with observers, or with a report
// if it does not return.
func (s *Superstep) attended(ctx context.Context, w *task.Worker, n *Node, i int, timed bool, seen *attempts) {
	t := &s.Tasks[i]
	if timed && n.Timeout > 0 {
		c, cancel := context.WithTimeout(ctx, n.Timeout)
		defer cancel()
		ctx = c
	}
	if timed && n.Idle > 0 {
		c, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(n.Idle, func() { cancel(ErrIdle) })
		defer timer.Stop()
		w.Watch(func() { timer.Reset(n.Idle) })
		ctx = c
	}
	if s.Observer != nil {
		defer s.Observer.Started(ctx, s.seen(i))()
	}
	if s.Stuck {
		defer s.guard(ctx, i, seen)()
	}
	if s.call(ctx, w.Parent(), t, i) && timed && !s.Intercepted && t.cut == nil && !s.host.Counts(t.Err) {
		t.Err = n.TimedOut(ctx, t.Err)
	}
}

// stuckAfter is the time after the end of its context at which a node that has not returned is
// reported as stuck.
const stuckAfter = 10 * time.Second

// guard reports task i as stuck if its node does not return when ctx, the context of the attempt,
// has ended. The returned function must be called when the node has returned. It waits for a
// report in progress, so that the report precedes the end of the attempt.
func (s *Superstep) guard(ctx context.Context, i int, seen *attempts) (returned func()) {
	back, over := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		timer := time.NewTimer(stuckAfter)
		defer timer.Stop()
		select {
		case <-back:
		case <-timer.C:
			s.stuck(ctx, i, seen)
		}
	})
	return func() {
		close(back)
		if !stop() {
			<-over
		}
	}
}

// stuck reports task i, whose attempt runs under ctx, as stuck.
func (s *Superstep) stuck(ctx context.Context, i int, seen *attempts) {
	summary := task.Summary(ctx)
	if s.Observer != nil {
		s.Observer.Stuck(ctx, s.seen(i), stuckAfter, summary)
	}
	seen.stuck(stuckAfter, summary)
}

// call calls the node under ctx, a child of the context of its task, and reports whether the node
// returned. A panic or Goexit becomes the task's error; Goexit ends the goroutine all the same.
func (s *Superstep) call(ctx, parent context.Context, t *Task, i int) (returned bool) {
	t.Err = ErrGoexit
	defer s.caught(parent, t)
	t.Err = s.host.Call(ctx, i)
	return true
}

// caught notes how a call ended that has no result. It is deferred.
func (s *Superstep) caught(parent context.Context, t *Task) {
	if t.Err != nil {
		s.broke(parent, t, recover())
	}
}

// broke notes that an attempt has ended with the error of t, or by a panic with v. The error is
// ErrGoexit if the node ended its goroutine. parent is the context of the task.
func (s *Superstep) broke(parent context.Context, t *Task, v any) {
	if v != nil {
		t.Err = s.host.Panicked(v)
	}
	t.cut = s.Cut(parent, t.Err)
	if t.cut == nil && t.Err == ErrGoexit { //nolint:errorlint // as attempt sets it, and nothing that a node returns
		t.Progress = Failed
	}
}

// Cut returns why an attempt that ends with err is cancelled: the cause of the end of parent, the
// context of its task. It returns nil if that has not ended, or if err counts.
func (s *Superstep) Cut(parent context.Context, err error) error {
	if err == nil || parent.Err() == nil || s.host.Counts(err) {
		return nil
	}
	return context.Cause(parent)
}

// TimedOut returns the error of a node that returned err under ctx, the context of its attempt.
// The context of its task has not ended. If the Timeout has passed, the error is
// context.DeadlineExceeded. If the node was idle for too long, it is ErrIdle.
func (n *Node) TimedOut(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		return nil
	case n.Idle > 0 && cause == ErrIdle: //nolint:errorlint // the very same error
		return passed("IdleTimeout", n.Idle, ErrIdle, err)
	case n.Timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return passed("Timeout", n.Timeout, context.DeadlineExceeded, err)
	}
	return err
}

// passed adds the cause of the end of an attempt to the error of its node.
func passed(option string, d time.Duration, cause, err error) error {
	if errors.Is(err, cause) {
		return fmt.Errorf("its %s of %s has passed: %w", option, d, err)
	}
	return fmt.Errorf("its %s of %s has passed (%w): %w", option, d, cause, err)
}

// Rest waits for d, and reports whether ctx let it.
func Rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
