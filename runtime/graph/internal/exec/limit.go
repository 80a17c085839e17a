package exec

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Limiter decides when an attempt may start. See graph.Limiter.
type Limiter interface {
	Acquire(ctx context.Context) (release func(), err error)
}

// errAdmit is the error of a task while a limiter decides.
var errAdmit = fmt.Errorf("its Limit: %w", ErrGoexit)

// admit waits until the limiters let task i run, and calls the node once. It reports whether the
// node was called. The attempt begins after the wait, so that neither its Timeout nor its events
// include it.
func (s *Superstep) admit(w *task.Worker, n *Node, i int, seen *attempts) bool {
	t, ctx := &s.Tasks[i], w.Parent()
	held := make([]func(), 0, 4) // on the stack
	defer func() {
		for _, release := range held {
			s.release(t, release)
		}
	}()
	for _, l := range n.Limits {
		release, err := s.acquire(ctx, l, t)
		switch {
		case err == nil:
			held = append(held, release)
		case ctx.Err() != nil && !s.host.Counts(err):
			t.Err = ctx.Err() // it has left the queue
			return false
		default:
			t.Progress, t.Err = Failed, fmt.Errorf("its Limit: %w", err)
			return false
		}
	}
	seen.begin()
	s.attempt(w, n, i, seen)
	return true
}

// acquire waits until one limiter admits a task. It returns a panic of the limiter as an error.
func (s *Superstep) acquire(ctx context.Context, l Limiter, t *Task) (release func(), err error) {
	t.Progress, t.Err = Failed, errAdmit // as they stay if the limiter ends the goroutine
	defer func() {
		if v := recover(); v != nil {
			err = s.host.Panicked(v)
		} else if t.Progress == Failed && ctx.Err() != nil {
			t.Progress = Waiting // Goexit, of a cancelled task
		}
	}()
	release, err = l.Acquire(ctx)
	t.Progress, t.Err = Waiting, nil
	return release, err
}

// release calls a function that a limiter returned; nil does nothing. Its panic fails the task.
func (s *Superstep) release(t *Task, release func()) {
	defer func() {
		if v := recover(); v != nil {
			t.Progress, t.Err = Failed, fmt.Errorf("its Limit: %w", s.host.Panicked(v))
		}
	}()
	if release != nil {
		release()
	}
}
