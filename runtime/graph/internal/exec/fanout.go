package exec

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// ErrLeft cancels the tasks of a superstep when nobody takes its events any more. Ended returns
// it to say so.
var ErrLeft = errors.New("the consumer left the stream")

// fanOut is the tasks of one superstep that run at the same time.
type fanOut struct {
	s      *Superstep
	whole  context.Context // of Run: the context of Uncut nodes
	ctx    context.Context
	cancel context.CancelCauseFunc
	taken  atomic.Int64     // of s.todo
	fresh  atomic.Int32     // the workers that have not taken a task yet; stays over 0 when no other may be started
	hired  int              // the workers started; for the goroutine that has made fresh 1
	done   chan int         // tasks that have ended, one way or another; nil when nobody wants to know
	posts  chan func() bool // of the watcher; nil without one
	over   chan struct{}    // closed when posts are not taken any more
	lanes  []lane           // by race
	alarm  alarm            // for tasks that wait for a time
	asks   []int            // tasks that have ended and ask
	woken  []int            // tasks whose time has come, and which no worker runs yet
	wg     sync.WaitGroup
}

// lane is the context that the tasks of one race run under.
type lane struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// fanOut runs the tasks that have to be run on at most Workers goroutines. With Eager, results are
// stored while other tasks still run. The error is that of storing.
func (s *Superstep) fanOut(ctx context.Context) error {
	f := &fanOut{s: s, whole: ctx}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	defer f.end() // also when the consumer of a stream panics: no task may run concurrently with what follows
	for range s.races {
		ctx, cancel := context.WithCancelCause(f.ctx)
		f.lanes = append(f.lanes, lane{ctx, cancel})
	}
	if s.Eager || s.Watcher != nil || s.races > 0 || s.Timed {
		f.done = make(chan int, len(s.Tasks))
	}
	if s.Watcher != nil {
		f.posts, f.over = make(chan func() bool), make(chan struct{})
	}
	f.notice(s.asking())
	f.start(min(runtime.GOMAXPROCS(0), s.Workers, len(s.todo)))
	err := f.collect()
	f.wg.Wait()
	return err
}

// end waits until all tasks have returned, without taking posts any more.
func (f *fanOut) end() {
	f.cancel(nil)
	if f.over != nil {
		close(f.over)
	}
	f.wg.Wait()
}

// start starts the first n workers: as many as can run at the same time.
func (f *fanOut) start(n int) {
	f.fresh.Store(int32(n))
	f.hired = n
	f.wg.Add(n)
	for range n {
		go f.begin()
	}
}

// hire starts another worker, unless one has yet to take a task or there are as many as there may
// be. Each worker that takes a task calls hire. Tasks that return immediately need no more
// workers than processors; tasks that wait get one each.
func (f *fanOut) hire() {
	if f.fresh.Load() > 0 || !f.fresh.CompareAndSwap(0, 1) || f.hired == min(f.s.Workers, len(f.s.todo)) {
		return
	}
	f.hired++
	f.wg.Add(1)
	go f.begin()
}

// begin is the goroutine of a worker.
func (f *fanOut) begin() {
	defer f.wg.Done()
	i := f.take()
	f.fresh.Add(-1)
	f.work(f.worker(), i)
}

// worker returns a new worker, for the tasks that one goroutine runs.
func (f *fanOut) worker() *task.Worker {
	w := new(task.Worker)
	w.Init(f.ctx, f.s.of, f.s.host)
	return w
}

// take returns the next place in s.todo; it is past the end if no task is left.
func (f *fanOut) take() int { return int(f.taken.Add(1)) - 1 }

// work runs tasks until none is left, the first at place i of s.todo.
func (f *fanOut) work(w *task.Worker, i int) {
	for ; i < len(f.s.todo); i = f.take() {
		if i+1 < len(f.s.todo) {
			f.hire()
		}
		f.one(w, f.s.todo[i])
	}
}

// one runs one task. If its node ends the goroutine by Goexit, another one does the rest of the
// work.
func (f *fanOut) one(w *task.Worker, i int) {
	returned := false
	t := &f.s.Tasks[i]
	var seen *attempts
	n := &f.s.nodes[t.Node]
	race, own := n.Race, w.Parent()
	if race > 0 {
		own = f.lanes[race-1].ctx
	}
	begins := n.begins(own)
	if n.Uncut {
		own = f.whole
	}
	if own != w.Parent() {
		w = new(task.Worker)
		w.Init(own, f.s.of, f.s.host)
	}
	defer func() {
		if t.Progress == Failed && race == 0 && !n.Continues {
			f.cancel(ErrSibling)
		}
		if seen.open() {
			seen.end(t.Outcome())
		}
		if f.done != nil {
			f.done <- i
		}
		if !returned {
			f.wg.Go(func() { f.work(f.worker(), f.take()) })
		}
	}()
	if begins {
		if f.posts != nil {
			seen = &attempts{fan: f, worker: w, task: i}
		}
		f.s.perform(w, i, seen)
	}
	returned = true
}

// attempts shows the attempts of one task to the watcher. A nil *attempts shows nothing.
type attempts struct {
	fan    *fanOut
	worker *task.Worker
	task   int
	runs   bool // an attempt has begun, and its end was not shown
}

// seen returns the task as the watcher sees it.
func (a *attempts) seen() Seen { return a.fan.s.seen(a.task) }

// open reports whether an attempt has begun whose end was not shown.
func (a *attempts) open() bool { return a != nil && a.runs }

// begin shows that an attempt begins.
func (a *attempts) begin() {
	if a != nil {
		a.runs = true
		a.fan.s.Watcher.Started(a.seen(), a.worker, a.fan.post)
	}
}

// end shows how the attempt ended.
func (a *attempts) end(o Outcome) {
	a.runs = false
	a.fan.s.Watcher.Stopped(a.seen(), o, a.fan.post)
}

// retry shows that the attempt failed, and that another one begins after delay.
func (a *attempts) retry(delay time.Duration) {
	if a != nil {
		a.end(OutcomeFailed)
		a.fan.s.Watcher.Retrying(a.seen(), delay, a.fan.post)
	}
}

// fallBack shows that the attempt failed because of err, and that the Fallback begins.
func (a *attempts) fallBack(err error) {
	if a != nil {
		a.end(OutcomeFailed)
		a.fan.s.Watcher.FallingBack(a.seen(), err, a.fan.post)
	}
}

// stuck shows that the node of the attempt has not returned, for so long after the end of its
// context.
func (a *attempts) stuck(since time.Duration, summary string) {
	if a != nil {
		a.fan.s.Watcher.Stuck(a.seen(), since, summary, a.fan.post)
	}
}

// post hands a function to the goroutine of Run, which calls it when it can; not after the
// superstep is over.
func (f *fanOut) post(call func() bool) {
	select {
	case f.posts <- call:
	case <-f.over:
	}
}

// collect stores results and questions while other tasks still run, as many at a time as there are
// meanwhile. The commit stores the last ones.
func (f *fanOut) collect() error {
	if f.done == nil {
		return nil
	}
	var batch []int
	var storing error
	defer f.alarm.stop()
	for left := len(f.s.todo); left > 0; f.resume(left) {
		if batch = f.ended(batch[:0]); len(batch) == 0 {
			woken, err := f.ring()
			if left += woken; err != nil {
				storing = err
				f.cancel(err)
			}
			continue
		}
		f.sift(batch)
		if left -= len(batch); left == 0 || storing != nil {
			continue
		}
		if f.s.Eager {
			switch err := f.s.host.StoreEnded(batch); {
			case errors.Is(err, ErrLeft):
				f.leave()
			case err != nil:
				storing = err
				f.cancel(err) // and wait for the rest
				continue
			}
		}
		f.callOff()
		f.notice(batch)
	}
	return storing
}

// ended waits for a task to end, and returns it with all that have ended meanwhile. It takes
// posts while it waits. It returns none when the alarm rings.
func (f *fanOut) ended(batch []int) []int {
	for len(batch) == 0 {
		select {
		case i := <-f.done:
			batch = append(batch, i)
		case call := <-f.posts:
			if !call() {
				f.leave()
			}
		case <-f.alarm.rings():
			return batch
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

// leave cancels the tasks because nobody takes their events any more. The tasks of a superstep
// with an Uncut node end first.
func (f *fanOut) leave() {
	if !f.s.Uncut() {
		f.cancel(ErrLeft)
	}
}

// sift decides the races among tasks that have just ended, the first in task order before the
// others.
func (f *fanOut) sift(batch []int) {
	if f.s.races == 0 {
		return
	}
	for _, i := range batch {
		if t := &f.s.Tasks[i]; t.Progress == Succeeded && !f.s.Win(i) {
			t.Progress = Beaten
		}
	}
}

// callOff cancels the tasks of races that are decided; the winners are stored.
func (f *fanOut) callOff() {
	for i := range f.lanes {
		if f.s.winners[i] >= 0 {
			f.lanes[i].cancel(ErrBeaten)
		}
	}
}
