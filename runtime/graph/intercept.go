package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// interceptors wrap the work of a run, the first outermost.
type interceptors []Interceptor

// and returns the interceptors of a subgraph call: those of the run, and then those of the graph.
func (all interceptors) and(more interceptors) interceptors {
	if len(more) == 0 {
		return all
	}
	return append(slices.Clip(all), more...)
}

// around does some work inside a function of each interceptor. with calls this function of an
// interceptor, and reports false if it has none. The error cannot be nil if that of work is not.
func around[T any](
	ctx context.Context, all interceptors,
	with func(ctx context.Context, in *Interceptor, next func(context.Context) (T, error)) (called bool, err error),
	work func(context.Context) (T, error),
) (T, error) {
	if len(all) == 0 {
		return work(ctx)
	}
	c := &onward[T]{over: make(chan struct{}), err: ErrGoexit}
	c.work = func(ctx context.Context) (T, error) { return around(ctx, all[1:], with, work) }
	called, err := c.call(ctx, &all[0], with)
	if !called {
		return c.work(ctx)
	}
	return c.end(err)
}

// onward is the next of one interceptor.
type onward[T any] struct {
	work  func(context.Context) (T, error)
	state atomic.Int32
	over  chan struct{} // closed when the work has ended
	got   T
	err   error
}

// The states of an onward.
const (
	nextWaits int32 = iota
	nextRuns        // also if the work has ended by a panic or Goexit
	nextEnded
	nextRefused // it is too late for the work
)

// call calls the function of an interceptor. A panic of the function is its error. A panic of the
// work is not that of the function, and continues. However the function ends, the work has ended
// when call returns, or never begins.
func (c *onward[T]) call(
	ctx context.Context, in *Interceptor, with func(context.Context, *Interceptor, func(context.Context) (T, error)) (bool, error),
) (called bool, err error) {
	returned := false
	defer func() {
		if returned || c.worked() && c.state.Load() == nextRuns { // of the work, on this goroutine
			return
		}
		if v := recover(); v != nil {
			called, err = true, fmt.Errorf("an Interceptor: %w", newPanic(v))
		}
	}()
	called, err = with(ctx, in, c.next)
	returned = true
	return called, err
}

// next does the work, once.
func (c *onward[T]) next(ctx context.Context) (T, error) {
	if !c.state.CompareAndSwap(nextWaits, nextRuns) {
		return *new(T), ErrNextCalledAgain
	}
	defer close(c.over)
	c.got, c.err = c.work(ctx)
	c.state.Store(nextEnded)
	return c.got, c.err
}

// worked waits for the end of work that has begun, perhaps on another goroutine. It reports false
// if the work has not begun, and then it never begins.
func (c *onward[T]) worked() bool {
	if c.state.CompareAndSwap(nextWaits, nextRefused) || c.state.Load() == nextRefused {
		return false
	}
	<-c.over
	return true
}

// end returns the outcome of the work, with the error of the interceptor.
func (c *onward[T]) end(err error) (T, error) {
	worked := c.worked()
	if err == nil && !worked {
		err = ErrNextNotCalled
	}
	return c.got, cmp.Or(err, c.err)
}

// both returns the error of some work, and that of its interceptor unless it contains the former.
func both(own, err error) error {
	if own == nil || errors.Is(err, own) {
		return err
	}
	return errors.Join(own, err)
}

// intercepted is perform with the interceptors of the run around it.
func (r *run) intercepted(ctx context.Context, i int) error {
	n, info := &r.g.nodes[r.exec.Tasks[i].Node], taskInfo(r, i)
	timed := exec.Node{Timeout: n.timeout, Idle: n.idle}
	var own error // of the node
	outcome, err := around(ctx, r.opt.interceptors,
		func(ctx context.Context, in *Interceptor, next func(context.Context) (Outcome, error)) (bool, error) {
			if in.Task == nil {
				return false, nil
			}
			return true, in.Task(ctx, info, next)
		},
		func(inner context.Context) (Outcome, error) {
			if own = r.rescued(inner, ctx, i); r.exec.Cut(task.Parent(ctx), own) == nil && !r.Counts(own) {
				own = timed.TimedOut(ctx, own)
			}
			return r.outcome(ctx, i, own)
		})
	switch outcome {
	case OutcomeWaiting, OutcomePaused, OutcomeReady:
		if err != nil {
			r.watchers.report(fmt.Errorf("%s: node %q: its task is %s, and an Interceptor failed: %w",
				where(r.g.name, r.thread, info.Step), string(n.id), outcome, err))
		}
		return own
	case OutcomeCancelled, OutcomeSuperseded:
		return both(own, err)
	}
	return err
}

// taskInfo describes the attempt of task i.
func taskInfo(r *run, i int) TaskInfo {
	t := &r.exec.Tasks[i]
	n := &r.g.nodes[t.Node]
	info := TaskInfo{
		Graph: r.g.name, Thread: r.thread, Path: pathOf(r.path()), Step: r.plan.Step + 1, Node: n.id, Kind: n.kind.name(),
		Index: t.Index, Attempt: t.Attempt, Fallback: t.Failure != nil,
	}
	if r.log != nil && r.opt.queues == nil {
		info.Queue = n.queue
	}
	return info
}

// rescued is perform without panics. It returns an error unless ctx is a child of attempt.
func (r *run) rescued(ctx, attempt context.Context, i int) (err error) {
	if !task.Under(ctx, attempt) {
		return ErrForeignContext
	}
	defer rescue(&err)
	return r.perform(ctx, i)
}

// outcome returns how the attempt of task i ends, which runs under ctx and whose node returned
// err. The error is nil if the outcome says all.
func (r *run) outcome(ctx context.Context, i int, err error) (Outcome, error) {
	t := &r.exec.Tasks[i]
	o := Outcome(t.OutcomeOf(err, r.exec.Cut(task.Parent(ctx), err)))
	switch {
	case o != OutcomePaused && o != OutcomeReady && task.Waits(ctx):
		return OutcomeWaiting, nil
	case o == OutcomeFailed && r.again(t, err):
		return OutcomeRetrying, err
	case o.failed() || o == OutcomeSuperseded:
		return o, err
	}
	return o, nil
}

// again reports whether another attempt, or the Fallback, follows one of t that fails with err.
func (r *run) again(t *exec.Task, err error) bool {
	if t.Failure != nil {
		return false
	}
	retry, fallBack := r.May(t, err)
	n := &r.g.exec[t.Node]
	return retry && exec.Applies(n.Retry, t.Attempt, err) || fallBack && n.Fallback
}

// interceptedStep is superstep with the interceptors of the run around it. Their context is that
// of the run for the duration of the superstep.
func (r *run) interceptedStep() error {
	before := r.ctx
	defer func() { r.ctx = before }()
	info := StepInfo{Graph: r.g.name, Thread: r.thread, Path: pathOf(r.path()), Step: r.plan.Step + 1}
	var own error
	_, err := around(before, r.opt.interceptors,
		func(ctx context.Context, in *Interceptor, next func(context.Context) (Status, error)) (bool, error) {
			if in.Step == nil {
				return false, nil
			}
			return true, in.Step(ctx, info, next)
		},
		func(ctx context.Context) (Status, error) {
			r.ctx = ctx
			if own = r.rescuedStep(); r.status == 0 {
				return Running, own
			}
			return r.status, own
		})
	if err != nil && own == nil && r.status != 0 { // the run has ended and is stored
		r.watchers.report(fmt.Errorf("%s: %w", where(r.g.name, r.thread, info.Step), err))
		return nil
	}
	if own == nil && err != nil {
		return fmt.Errorf("%s: %w", where(r.g.name, r.thread, info.Step), err)
	}
	return both(own, err)
}

// rescuedStep is superstep, without the panics of reducers.
func (r *run) rescuedStep() (err error) {
	defer rescueReducer(r, &err)
	return r.superstep()
}

// interceptedRoute is the route of node n with the interceptors of the run around it.
func (r *run) interceptedRoute(ctx context.Context, n, step int) (next Next, err error) {
	info := RouteInfo{Graph: r.g.name, Thread: r.thread, Path: pathOf(r.path()), Step: step, Node: r.g.nodes[n].id}
	var own error
	_, err = around(ctx, r.opt.interceptors,
		func(ctx context.Context, in *Interceptor, next func(context.Context) ([]ID, error)) (bool, error) {
			if in.Route == nil {
				return false, nil
			}
			return true, in.Route(ctx, info, next)
		},
		func(ctx context.Context) ([]ID, error) {
			var ids []ID
			if next, own = r.state.route(ctx, n); own == nil && next.first.id != "" {
				for t := range next.targets {
					ids = append(ids, t.id)
				}
			}
			return ids, own
		})
	return next, both(own, err)
}

// run does the work of a run inside the interceptors.
func (all interceptors) run(ctx context.Context, info RunInfo, work func(context.Context) (Status, error)) error {
	var own error
	_, err := around(ctx, all,
		func(ctx context.Context, in *Interceptor, next func(context.Context) (Status, error)) (bool, error) {
			if in.Run == nil {
				return false, nil
			}
			return true, in.Run(ctx, info, next)
		},
		func(ctx context.Context) (status Status, err error) {
			status, own = work(ctx)
			return status, own
		})
	if own == nil && err != nil {
		return fmt.Errorf("%s: %w", where(info.Graph, info.Thread, -1), err)
	}
	return both(own, err)
}

// runs reports whether an interceptor wraps runs.
func (all interceptors) runs() bool {
	return slices.ContainsFunc(all, func(in Interceptor) bool { return in.Run != nil })
}

// steps reports whether an interceptor wraps supersteps.
func (all interceptors) steps() bool {
	return slices.ContainsFunc(all, func(in Interceptor) bool { return in.Step != nil })
}

// tasks reports whether an interceptor wraps tasks.
func (all interceptors) tasks() bool {
	return slices.ContainsFunc(all, func(in Interceptor) bool { return in.Task != nil })
}

// routes reports whether an interceptor wraps routes.
func (all interceptors) routes() bool {
	return slices.ContainsFunc(all, func(in Interceptor) bool { return in.Route != nil })
}
