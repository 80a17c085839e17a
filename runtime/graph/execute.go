package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// execute runs the tasks of the superstep that have no result yet, and reports those that failed.
func (r *run) execute() error {
	r.todo = r.todo[:0]
	for i := range r.slots {
		if r.slots[i].progress == waiting {
			r.todo = append(r.todo, i)
		}
	}
	if len(r.todo) == 0 {
		return nil
	}
	if r.plan.Input() {
		return fmt.Errorf("%s: the input of the run is not stored: %w", where(r.g.name, r.thread, r.plan.Step), checkpoint.ErrDamaged)
	}
	if r.ctx.Err() != nil {
		return r.cancelled()
	}
	if r.g.nests {
		if err := r.storeBase(); err != nil {
			return err
		}
		if r.sink != nil && r.sink.wants(EventValue) {
			r.state.share() // a subgraph's states, which are shown, have parts of this one
		}
	}
	var saving error
	if len(r.todo) == 1 && !r.watched() {
		if r.solo == nil {
			r.solo = new(task.Worker)
			r.solo.Init(r.ctx, r.runTask(), r.key)
		}
		r.perform(r.solo, r.todo[0])
		if r.slots[r.todo[0]].progress == succeeded {
			r.finish(r.todo[0])
		}
	} else {
		saving = r.fanOut()
	}
	r.endRaces()
	unfinished, err := r.failures()
	switch {
	case err != nil && saving != nil:
		return errors.Join(err, saving)
	case err != nil || saving != nil:
		return cmp.Or(err, saving)
	case unfinished && r.sink != nil && r.sink.left():
		return errLeft
	case unfinished:
		return r.cancelled()
	}
	return nil
}

// runTask is what the tasks of the run have in common.
func (r *run) runTask() Task { return Task{Graph: r.g.name, Thread: r.thread} }

// failures joins the errors of the failed tasks, in task order. unfinished tells of tasks that were cancelled.
func (r *run) failures() (unfinished bool, err error) {
	var errs []error
	for i := range r.slots {
		switch sl := &r.slots[i]; sl.progress {
		case failed:
			errs = append(errs, r.nodeError(sl, sl.err))
		case waiting:
			unfinished = true
		}
	}
	if len(errs) == 1 {
		return unfinished, errs[0]
	}
	return unfinished, errors.Join(errs...)
}

// perform runs one task, as often as its node's Retry allows.
func (r *run) perform(w *task.Worker, i int) {
	sl := &r.slots[i]
	n := &r.g.nodes[sl.Node]
	ctx := w.Parent()
	for sl.attempt = 1; ; sl.attempt++ {
		if sl.asks != nil {
			sl.asks.Restart()
		}
		r.attempt(w, n, i)
		switch outcome := sl.outcome(ctx); {
		case outcome == OutcomeWaiting:
			sl.progress, sl.err = asking, nil
			return
		case outcome == OutcomeDone:
			sl.progress = succeeded
			return
		case outcome != OutcomeFailed:
			return // paused as its subgraph says, or cancelled: neither a result nor a failure
		case r.log != nil && r.log.Lost() != nil || !retries(&n.retry, sl):
			sl.progress = failed
			return
		case !rest(ctx, n.retry.pause(sl.attempt+1)):
			return
		}
	}
}

// attempt calls the node once. A panic or Goexit in it becomes the slot's error; Goexit goes on to end the
// goroutine all the same.
func (r *run) attempt(w *task.Worker, n *node, i int) {
	sl := &r.slots[i]
	var ctx context.Context = w.Begin(string(n.id), sl.Index, r.plan.Step+1, sl.attempt, sl.asks)
	defer w.End()
	if n.timeout > 0 {
		c, cancel := context.WithTimeout(ctx, n.timeout)
		defer cancel()
		ctx = c
	}
	sl.err = ErrGoexit
	defer func() {
		if sl.err == ErrGoexit { //nolint:errorlint // set above, and by nothing that a node returns
			sl.progress = failed
		}
	}()
	if r.observers != nil {
		defer r.began(ctx, w.Parent(), n, sl)()
	}
	defer func() {
		if v := recover(); v != nil {
			sl.err = newPanic(v)
		}
	}()
	sl.err = r.state.call(ctx, r, i)
	if n.timeout > 0 && sl.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && w.Parent().Err() == nil {
		sl.err = timedOut(n.timeout, sl.err)
	}
	if r.opt.strict && sl.err == nil {
		sl.err = r.keepsToWrites(i, n)
	}
	if sl.err == nil && n.routes && sl.progress == waiting {
		sl.err = n.allows(&r.g.nodes, *sl.next)
	}
}

// timedOut is the error of a node that returned err after its Timeout had passed. It is context.DeadlineExceeded.
func timedOut(timeout time.Duration, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("its Timeout of %s has passed: %w", timeout, err)
	}
	return fmt.Errorf("its Timeout of %s has passed (%w): %w", timeout, context.DeadlineExceeded, err)
}

// retries reports whether the node of a task that failed runs again. A panic of Unless joins the task's error.
func retries(b *Backoff, sl *slot) (again bool) {
	var mutation *MutationError
	var undeclared *UndeclaredError
	var p *PanicError
	if sl.attempt >= b.Attempts || errors.As(sl.err, &p) || errors.As(sl.err, &mutation) || errors.As(sl.err, &undeclared) {
		return false
	}
	if b.Unless == nil {
		return true
	}
	sl.progress = failed // as it stays if Unless ends the goroutine
	defer func() {
		if v := recover(); v != nil {
			sl.err = fmt.Errorf("%w; the Unless of its Retry: %w", sl.err, newPanic(v))
		}
	}()
	if again = !b.Unless(sl.err); again {
		sl.progress = waiting
	}
	return again
}

// rest waits for d, and reports whether ctx let it.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fanOut is the tasks of one superstep that run at the same time.
type fanOut struct {
	r      *run
	ctx    context.Context
	cancel context.CancelCauseFunc
	taken  atomic.Int64  // of r.todo
	done   chan int      // slots that have ended, one way or another; nil when nobody wants to know
	events chan event    // of tasks under way; nil when nobody listens
	over   chan struct{} // closed when nobody takes events any more
	lanes  []lane        // by race
	wg     sync.WaitGroup
}

// errSibling cancels the tasks beside one that failed.
var errSibling = errors.New("a node of the same superstep failed")

// fanOut runs the tasks of r.todo on at most as many goroutines as the run may use. The results of those that
// finish while others still run are stored at once; the error is the saver's.
func (r *run) fanOut() error {
	f := &fanOut{r: r}
	f.ctx, f.cancel = context.WithCancelCause(r.ctx)
	defer f.end() // also when the consumer of a stream panics: nothing goes on beside what follows
	f.startLanes()
	if r.log != nil && r.log.Eager() || r.watched() || r.g.plan.Races > 0 {
		f.done = make(chan int, len(r.todo))
	}
	if r.watched() {
		f.events, f.over = make(chan event), make(chan struct{})
	}
	workers := make([]task.Worker, min(r.opt.concurrency, len(r.todo)))
	key := r.key
	f.wg.Add(len(workers))
	for i := range workers {
		workers[i].Init(f.ctx, r.runTask(), key)
		go f.work(&workers[i])
	}
	err := f.collect()
	f.wg.Wait()
	return err
}

// end waits until all tasks have returned, without taking events from them any more.
func (f *fanOut) end() {
	f.cancel(nil)
	if f.over != nil {
		close(f.over)
	}
	f.wg.Wait()
}

// work runs tasks until none is left.
func (f *fanOut) work(w *task.Worker) {
	for {
		i := int(f.taken.Add(1)) - 1
		if i >= len(f.r.todo) {
			break
		}
		f.one(w, f.r.todo[i])
	}
	f.wg.Done()
}

// one runs one task. If its node ends the goroutine by Goexit, another one does the rest of the work.
func (f *fanOut) one(w *task.Worker, i int) {
	returned := false
	sl := &f.r.slots[i]
	race := f.r.g.plan.Nodes[sl.Node].Race
	if race > 0 {
		w = new(task.Worker)
		w.Init(f.lanes[race-1].ctx, f.r.runTask(), f.r.key)
	}
	defer func() {
		if sl.progress == failed && race == 0 {
			f.cancel(errSibling)
		}
		f.unwatch(w.Parent(), sl)
		if f.done != nil {
			f.done <- i
		}
		if !returned {
			heir := new(task.Worker)
			heir.Init(f.ctx, f.r.runTask(), f.r.key)
			go f.work(heir)
		}
	}()
	if w.Parent().Err() == nil {
		f.watch(w, sl)
		f.r.perform(w, i)
	}
	returned = true
}

// publishQuestions yields what the given tasks wait for, now that it is stored.
func (f *fanOut) publishQuestions(slots []int) {
	for _, i := range slots {
		if !f.r.publishQuestions(f.r.waitingFor(&f.r.slots[i])) {
			f.cancel(errLeft)
		}
	}
}

// collect stores results and questions while other tasks still run, as many at a time as there are meanwhile. What
// finishes last goes with the commit.
func (f *fanOut) collect() error {
	if f.done == nil {
		return nil
	}
	var batch []int
	var saving error
	for left := len(f.r.todo); left > 0; {
		batch = f.ended(batch[:0])
		f.sift(batch)
		if left -= len(batch); left == 0 || saving != nil {
			continue
		}
		if f.r.log != nil && f.r.log.Eager() {
			if saving = f.r.acknowledge(batch); saving != nil {
				f.cancel(saving) // and wait for the rest
				continue
			}
			f.publishQuestions(batch)
		}
		f.callOff()
	}
	return saving
}

// ended waits for a task to end, and returns it with all that have ended meanwhile. Events are handed on while it
// waits.
func (f *fanOut) ended(batch []int) []int {
	for len(batch) == 0 {
		select {
		case i := <-f.done:
			batch = append(batch, i)
		case e := <-f.events:
			if !f.r.show(e) {
				f.cancel(errLeft)
			}
		}
	}
	for {
		select {
		case i := <-f.done:
			batch = append(batch, i)
		default:
			slices.Sort(batch)
			return batch
		}
	}
}
