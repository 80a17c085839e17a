package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// execute runs the tasks of the superstep that have no result yet, and returns the errors of those
// that failed.
func (r *run) execute() error {
	if r.exec.Left() == 0 {
		return nil
	}
	if r.plan.Input() {
		return fmt.Errorf("%s: the input of the run is not stored: %w", where(r.g.name, r.thread, r.plan.Step), checkpoint.ErrDamaged)
	}
	if r.stops() {
		return r.cancelled()
	}
	if r.g.nests {
		if err := r.storeBase(); err != nil {
			return err
		}
		if r.sink != nil && r.sink.wants(EventState) {
			r.state.share() // the states of subgraphs, which events show, share memory with this one
		}
	}
	if free := r.takeSlot(); free != nil {
		defer free()
	}
	storing := r.exec.Run(r.nodes(), r.plan.Step+1)
	if storing == nil && !r.exec.Has(exec.Failed) && !r.exec.Has(exec.Waiting) {
		return r.handOut(r.exec.Due())
	}
	unfinished, err := r.exec.Failures(func(t *exec.Task) error { return r.nodeError(t, t.Err) })
	switch {
	case err != nil && storing != nil && !tooLarge(storing): // else err has it
		return errors.Join(err, storing)
	case err != nil || storing != nil:
		return cmp.Or(err, storing)
	case unfinished && r.sink != nil && r.sink.left():
		return exec.ErrLeft
	case unfinished:
		return r.cancelled()
	}
	return nil
}

// stops reports whether nothing of the run may begin, because its context has ended. In a call
// whose sibling failed, the tasks of queues still begin, which take the outcomes that are stored.
func (r *run) stops() bool {
	return r.ctx.Err() != nil && !(r.g.queued && exec.SiblingFailed(r.ctx))
}

// execOptions returns how the run executes its supersteps.
func (r *run) execOptions() exec.Options {
	o := exec.Options{Rehearse: r.opt.rehearse, Workers: r.opt.concurrency, Eager: r.log != nil && r.log.Eager(), Timed: r.log != nil}
	o.Stuck, o.Intercepted = r.watchers.any(), len(r.opt.interceptors) > 0
	o.Changing = o.Intercepted || r.g.uncut
	if o.Stuck {
		o.Observer = r.watchers
	}
	o.Apart = r.sink != nil && r.call == nil // the events are yielded on the goroutine of the run
	if f := r.feed(); f.watched() {
		o.Watcher = f
		o.Stuck = o.Stuck || r.sink.wants(EventTaskStuck)
	}
	return o
}

// A run is the exec.Host of its tasks. Package exec calls these methods concurrently, on the
// goroutines of the tasks. Such a method, and what it calls, may change only what belongs to its
// task.
var _ exec.Host = (*run)(nil)

// Call implements exec.Host.
func (r *run) Call(ctx context.Context, i int) error {
	if r.opt.rehearse {
		return r.rehearseTask(ctx, i)
	}
	if !r.exec.Intercepted || !r.opt.interceptors.tasks() || r.HandsOut(i) {
		return r.perform(ctx, i)
	}
	return r.intercepted(ctx, i)
}

// HandsOut implements exec.Host.
func (r *run) HandsOut(i int) bool {
	t := &r.exec.Tasks[i]
	return r.opt.queues != nil && !r.slot && t.Failure == nil && r.g.nodes[t.Node].queue != ""
}

// perform runs the attempt of task i.
func (r *run) perform(ctx context.Context, i int) error {
	t := &r.exec.Tasks[i]
	n := &r.g.nodes[t.Node]
	var err error
	switch {
	case r.HandsOut(i):
		err = r.elsewhere(ctx, i)
	case t.Failure == nil && r.slot:
		err = r.callQueued(ctx, i)
	case t.Failure == nil:
		err = r.state.call(ctx, r, i)
	default:
		if n.sub != nil {
			r.calls[i] = subgraph.Returned{Open: r.calls[i].Open} // the call counts for nothing
		}
		err = r.state.fallBack(ctx, t, i)
	}
	if err != nil && n.keeps && !task.Waits(ctx) {
		return r.keepUpdate(i, n, err)
	}
	if err == nil && r.opt.strict {
		err = r.keepsToWrites(i, n)
	}
	if err == nil && n.routes && t.Progress == exec.Waiting {
		err = n.allows(&r.g.nodes, *r.state.choice(i))
	}
	if err == nil && r.g.onUpdate != nil && !n.same && t.Progress == exec.Waiting && !r.HandsOut(i) {
		err = r.g.onUpdate(ctx, r.state, taskInfo(r, i), i)
	}
	if err == nil && n.sub != nil && !n.unstored && r.log != nil && t.Failure == nil { // the signals of a call that failed go back
		r.dropCall(i)
	}
	return err
}

// Key implements exec.Host.
func (r *run) Key(t *Task) string { return r.keys.Task(t.Step, t.Node, t.Index) }

// May implements exec.Host. A Fallback never hides a fault that a Strict run finds. It never hides
// a fault of the storage of a subgraph or a durable call either.
func (r *run) May(t *exec.Task, err error) (retry, fallBack bool) {
	var mutation *MutationError
	var undeclared *UndeclaredError
	var queued *QueueError
	if errors.As(err, &queued) && queued.class == classFault {
		return false, false
	}
	if r.log != nil && r.log.Lost() != nil || errors.As(err, &mutation) || errors.As(err, &undeclared) || errors.Is(err, errNotKept) {
		return false, false
	}
	n := &r.g.nodes[t.Node]
	stored := t.Calls != nil || n.sub != nil || len(n.signals) > 0 || n.queue != ""
	return !(stored && tooLarge(err)), !t.Calls.Failed() && !(stored && ofStorage(err))
}

// ofStorage reports whether an error is about stored data, not about the work of a node.
func ofStorage(err error) bool {
	var saver *SaverError
	return errors.As(err, &saver) || tooLarge(err) || errors.Is(err, ErrGraphChanged) || errors.Is(err, checkpoint.ErrDamaged)
}

// Panicked implements exec.Host.
func (r *run) Panicked(v any) error { return newPanic(v) }

// Counts implements exec.Host.
func (r *run) Counts(err error) bool { return counts(err) }

// counts reports whether err, of work in a run whose context has ended, is a failure all the same.
// The worker of a queue stores no outcome of a cancelled attempt.
func counts(err error) bool {
	var panicked *PanicError
	var queued *QueueError
	return errors.As(err, &panicked) || errors.As(err, &queued)
}

// StoreEnded implements exec.Host.
func (r *run) StoreEnded(tasks []int) error {
	if err := r.acknowledge(tasks); err != nil {
		return err
	}
	if err := r.handOut(tasks); err != nil {
		return err
	}
	for _, i := range tasks {
		if !r.feed().publishQuestions(r.plan.Step+1, waitingFor(r.askedBy(i))) {
			return exec.ErrLeft
		}
	}
	return nil
}
