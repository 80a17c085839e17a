package graph

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/ending"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
)

// A run of a worker leaves its tasks to a KeepingQueue when it executes nothing itself. Until then
// it waits for their outcomes, because an outcome can be followed by another attempt, or end a
// race.
//
// handOuts.busy counts what the run executes itself. A superstep in progress counts each of its
// tasks that is not handed out, until the task ends. A subgraph call counts as a task of its
// parent only between its supersteps.

// handOutAgain is the time after which a run hands out tasks again that have no outcome. It heals
// a queue whose tasks somebody has removed.
const handOutAgain = time.Hour

// keeping is a run that leaves tasks to a KeepingQueue.
type keeping struct{ *run }

// keeps reports whether the run may leave task i to its queue. It waits for the tasks of a race,
// because the first one that succeeds cancels the others.
func (r keeping) keeps(i int) bool {
	h, t := r.opt.handOuts, &r.exec.Tasks[i]
	n := &r.g.nodes[t.Node]
	return h != nil && h.keeper != nil && n.queue != "" && r.g.plan.Nodes[t.Node].Race == 0 && !r.relays(n)
}

// own returns how many of the tasks the run executes itself.
func (r keeping) own(tasks []int) (n int) {
	for _, i := range tasks {
		if !r.keeps(i) {
			n++
		}
	}
	return n
}

// superstep counts the tasks that the superstep begins. The returned function ends the superstep.
func (r keeping) superstep() (over func()) {
	h := r.opt.handOuts
	if h == nil || h.keeper == nil {
		return func() {}
	}
	call := 0
	if r.call != nil {
		call = 1
	}
	h.occupy(r.run, r.own(r.exec.Due()), -call)
	return func() { h.vacate(r.run, call) }
}

// begin counts tasks that begin again in the superstep. end counts those that have ended.
func (r keeping) begin(tasks []int) { r.move(r.own(tasks)) }
func (r keeping) end(tasks []int)   { r.move(-r.own(tasks)) }

func (r keeping) move(n int) {
	if h := r.opt.handOuts; n != 0 && h != nil && h.keeper != nil {
		h.move(r.run, n)
	}
}

// occupy notes that a superstep of r begins, in which r executes own tasks itself. It adds own and
// others to the count of tasks in progress. For a subgraph call others is -1, because the task of
// its parent does not count during its supersteps.
func (h *handOuts) occupy(r *run, own, others int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own[r] = own
	h.add(own + others)
}

// vacate notes that the superstep of r has ended. It removes its tasks from the count of tasks in
// progress, and adds others.
func (h *handOuts) vacate(r *run, others int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(others - h.own[r])
	delete(h.own, r)
}

// move adds n tasks to the superstep of r, if one is in progress.
func (h *handOuts) move(r *run, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if own, found := h.own[r]; found {
		h.own[r] = own + n
		h.add(n)
	}
}

// add adds n to busy. The caller must hold h.mu.
func (h *handOuts) add(n int) {
	before := h.busy
	switch h.busy += n; {
	case before == 0 && h.busy > 0:
		h.quiet = make(chan struct{})
	case before > 0 && h.busy == 0:
		close(h.quiet)
	}
}

// kept reports whether the run has left tasks to their queue.
func (h *handOuts) kept() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.left) > 0
}

// leave hands a task out to the keeper. It returns the outcome if it is stored while the run
// executes something else. Then left is true, and the outcome makes the thread due. Without
// either, the task is not handed out.
func (h *handOuts) leave(ctx context.Context, q QueuedTask) (b []byte, left bool, err error) {
	if h.hand(ctx, q) != nil {
		return nil, false, ctx.Err()
	}
	h.mu.Lock()
	quiet, busy := h.quiet, h.busy > 0
	h.mu.Unlock()
	at := awaited{awaitedStep{q.Namespace, q.Base}, checkpoint.OutcomeName{Task: q.Task, Name: q.Execution}}
	if busy {
		found := h.watch(at)
		defer h.unwatch(at)
		select {
		case b := <-found:
			return b, false, nil
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-quiet:
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left[at.awaitedStep] = append(h.left[at.awaitedStep], at.OutcomeName)
	return nil, true, nil
}

// findLeft looks for outcomes that were stored before the run gave up its thread. Their workers
// do not wake a thread that a run holds. If there is one, the thread is due now. If
// another call or a message has made the thread due, that stands.
func (r keeping) findLeft() error {
	h := r.opt.handOuts
	if !h.kept() || r.status != Waiting || !wakeAfter(r.run, Waiting).After(ending.Now()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.g.opt.saverTimeout)
	defer cancel()
	wake := inbox.Earlier(earliest(r.asked()), r.log.Now().Add(handOutAgain))
	for of, names := range h.left {
		found, err := r.g.opt.saver.Outcomes(ctx, checkpoint.OutcomeQuery{Thread: r.thread, Namespace: of.namespace, Base: of.base, Names: names})
		if err != nil {
			return r.saving("outcomes", err)
		}
		if len(found) > 0 {
			wake = ending.Now()
			break
		}
	}
	d := r.opt.due
	d.run.Wake, d.found.Fence = wake, d.fence
	d.seen, _ = r.log.Seen()
	return r.g.rewake(ctx, d)
}

// hand calls HandOut. A panic of the queue is its error.
func (h *handOuts) hand(ctx context.Context, q QueuedTask) (err error) {
	defer rescue(&err)
	call, cancel := context.WithTimeout(ctx, h.g.opt.saverTimeout)
	defer cancel()
	return h.keeper.HandOut(call, q)
}
