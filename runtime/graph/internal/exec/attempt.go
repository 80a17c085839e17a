package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// perform runs one task, as often as its node's Retry allows.
func (s *Superstep) perform(w *task.Worker, i int, o *Options) {
	t := &s.Tasks[i]
	n := &s.nodes[t.Node]
	ctx := w.Parent()
	for t.Attempt = 1; ; t.Attempt++ {
		if t.Asks != nil {
			t.Asks.Restart()
		}
		s.attempt(w, n, i, o)
		switch outcome := t.Outcome(ctx); {
		case outcome == OutcomeWaiting:
			t.Progress, t.Err = Asking, nil
			return
		case outcome == OutcomeDone:
			t.Progress = Succeeded
			return
		case outcome != OutcomeFailed:
			return // paused as its subgraph says, or cancelled: neither a result nor a failure
		case s.host.Final(t.Err) || !s.retries(&n.Retry, t):
			t.Progress = Failed
			return
		case !Rest(ctx, n.Retry.Pause(t.Attempt+1)):
			return
		}
	}
}

// attempt calls the node once. A panic or Goexit in it becomes the task's error; Goexit goes on to end
// the goroutine all the same.
func (s *Superstep) attempt(w *task.Worker, n *Node, i int, o *Options) {
	t := &s.Tasks[i]
	var ctx context.Context = w.Begin(n.ID, t.Index, o.Step, t.Attempt, t.Asks)
	defer w.End()
	if n.Timeout > 0 {
		c, cancel := context.WithTimeout(ctx, n.Timeout)
		defer cancel()
		ctx = c
	}
	t.Err = ErrGoexit
	defer func() {
		if t.Err == ErrGoexit { //nolint:errorlint // set above, and by nothing that a node returns
			t.Progress = Failed
		}
	}()
	if o.Observe {
		defer s.host.Observe(ctx, w.Parent(), i)()
	}
	defer func() {
		if v := recover(); v != nil {
			t.Err = s.host.Panicked(v)
		}
	}()
	t.Err = s.host.Call(ctx, i)
	if n.Timeout > 0 && t.Err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && w.Parent().Err() == nil {
		t.Err = timedOut(n.Timeout, t.Err)
	}
}

// timedOut is the error of a node that returned err after its Timeout had passed. It is
// context.DeadlineExceeded.
func timedOut(timeout time.Duration, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("its Timeout of %s has passed: %w", timeout, err)
	}
	return fmt.Errorf("its Timeout of %s has passed (%w): %w", timeout, context.DeadlineExceeded, err)
}

// retries reports whether the node of a task that failed runs again. A panic of Unless joins the task's
// error.
func (s *Superstep) retries(r *Retry, t *Task) (again bool) {
	if t.Attempt >= r.Attempts {
		return false
	}
	if r.Unless == nil {
		return true
	}
	t.Progress = Failed // as it stays if Unless ends the goroutine
	defer func() {
		if v := recover(); v != nil {
			t.Err = fmt.Errorf("%w; the Unless of its Retry: %w", t.Err, s.host.Panicked(v))
		}
	}()
	if again = !r.Unless(t.Err); again {
		t.Progress = Waiting
	}
	return again
}

// Pause returns how long to wait before the given attempt, counted from 1.
func (r *Retry) Pause(attempt int) time.Duration {
	base, limit := r.Base, r.Max
	if base <= 0 {
		base = 100 * time.Millisecond
	}
	if limit <= 0 {
		limit = 30 * time.Second
	}
	d := base
	for range attempt - 2 {
		if d >= limit/2 {
			return limit
		}
		d *= 2
	}
	return min(d, limit)
}

// Rest waits for d, and reports whether ctx let it.
func Rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
