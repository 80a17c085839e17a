package graph

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// handOuts are the tasks of a run that workers of queues run.
type handOuts struct {
	g      *core
	thread string
	ctx    context.Context // of polls
	cancel context.CancelFunc
	wg     sync.WaitGroup // the poll

	keeper KeepingQueue // nil for a run that waits for the outcomes

	mu      sync.Mutex
	waiting map[awaited]chan []byte // tasks whose outcome a poll may find; nil channels never
	polls   bool
	own     map[*run]int                             // by supersteps in progress: the tasks that the run executes itself
	busy    int                                      // all of these, see handkeep.go
	quiet   chan struct{}                            // closed while busy is 0
	left    map[awaitedStep][]checkpoint.OutcomeName // the tasks that the run has left to the keeper
}

// awaited is a task whose outcome the run waits for.
type awaited struct {
	awaitedStep
	checkpoint.OutcomeName
}

// awaitedStep names a superstep with such tasks.
type awaitedStep struct {
	namespace string
	base      checkpoint.ID
}

// newHandOuts returns the hand-outs of a run on a thread; nil if the graph has no queues. due says
// that the run is one of a worker.
func newHandOuts(g *core, thread string, due bool) *handOuts {
	if !g.queued {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &handOuts{g: g, thread: thread, ctx: ctx, cancel: cancel, waiting: make(map[awaited]chan []byte), quiet: make(chan struct{}), left: make(map[awaitedStep][]checkpoint.OutcomeName), own: make(map[*run]int)}
	close(h.quiet)
	if due {
		h.keeper, _ = g.opt.queues.(KeepingQueue)
	}
	return h
}

// stop ends the polls of a run that has ended.
func (h *handOuts) stop() {
	if h != nil {
		h.cancel()
		h.wg.Wait()
	}
}

// These are the least and the greatest time between two looks for outcomes that no worker has
// announced.
const leastPoll, mostPoll = 20 * time.Millisecond, time.Second

// elsewhere runs the node of task i, which has a queue, in a worker of the queue. If the node
// wants a signal that has come, it runs again.
func (r host) elsewhere(ctx context.Context, i int) error {
	if r.call != nil { // workers load its first checkpoint, which may wait for the next write
		if err := r.log.Put(r.ctx, nil, journal.Outcome{}); err != nil {
			return r.saving("put writes", err)
		}
	}
	for {
		e, err := r.handOut(ctx, i)
		if err != nil {
			return err
		}
		if again, err := r.receive(i, e); err != nil {
			return err
		} else if !again {
			return r.accept(ctx, i, e)
		}
	}
}

// handOut returns the outcome of the next execution of task i. If it is not stored, a worker of
// the queue makes it.
func (r host) handOut(ctx context.Context, i int) (*journal.Execution, error) {
	t, h := &r.exec.Tasks[i], r.opt.handOuts
	key := r.taskKey(&t.Task)
	round, answers := r.pending.Round(key), 0
	if t.Asks != nil {
		answers = t.Asks.Answered()
	}
	q := QueuedTask{
		Queue: r.g.nodes[t.Node].queue, Graph: h.g.name, Thread: r.thread, Namespace: r.log.Namespace, At: r.log.Head, Base: r.log.Base,
		Node: r.g.nodes[t.Node].id, Task: key, Round: round, Attempt: t.Attempt, Execution: journal.ExecutionName(round, answers, t.Attempt),
		Emits: r.relays(&r.g.nodes[t.Node]),
	}
	_, q.Wakes = h.g.opt.queues.(KeepingQueue)
	b, found := r.pending.Outcome(key, q.Execution)
	if !found {
		var err error
		var left bool
		if keeping(r).keeps(i) {
			if b, left, err = h.leave(ctx, q); left {
				t.Progress = exec.Elsewhere
				return nil, ErrWaiting
			}
		}
		if b == nil && err == nil {
			b, err = h.await(ctx, q, r.g.nodes[t.Node].emits)
		}
		if err != nil {
			return nil, err
		}
	}
	e, err := journal.ReadExecution(b)
	if err != nil {
		return nil, r.resultChanged(err, "the outcome of node %q", string(r.g.nodes[t.Node].id))
	}
	return &e, nil
}

// receive takes the signal that an execution of task i waits for, and reports whether there was
// one. If the execution also asks something else, it takes none: the questions must be stored
// first, because their due times must not change.
func (r host) receive(i int, e *journal.Execution) (bool, error) {
	if len(e.Asked) != 1 || !task.IsSignal(e.Asked[0].Place) {
		return false, nil
	}
	a := e.Asked[0]
	q := inbox.Question{Stored: checkpoint.Write{Name: a.Place}}
	var err error
	q.Of, err = journal.ReadQuestion(a.Payload)
	if err != nil {
		return false, r.resultChanged(err, "the signal that node %q waits for", string(r.g.nodes[r.exec.Tasks[i].Node].id))
	}
	q.Of.Due = a.Due
	return r.exec.Tasks[i].Asks.TakeFor(q.Awaited())
}

// accept makes the outcome of an execution that of the attempt of task i.
func (r host) accept(ctx context.Context, i int, e *journal.Execution) error {
	t := &r.exec.Tasks[i]
	n := &r.g.nodes[t.Node]
	if e.Summary != "" {
		task.Summarise(ctx, e.Summary)
	}
	switch {
	case e.Result != nil:
		if err := r.readResult(i, e.Result); err != nil {
			return r.resultChanged(err, "the outcome of node %q", string(n.id))
		}
		return nil
	case len(e.Asked) > 0:
		asked := make([]task.Asked, len(e.Asked))
		for k, a := range e.Asked {
			asked[k] = task.Asked(a)
		}
		if !task.Hold(ctx, asked) {
			return fmt.Errorf("%w: the node cannot ask any more", ErrNotAskable)
		}
		return ErrWaiting
	}
	err := &QueueError{Queue: n.queue, Text: e.Failure, class: failureClass(e.Class), policy: e.Policy, delay: e.Delay}
	if err.class == classPanic {
		return fmt.Errorf("%w: %w", err, &PanicError{Value: e.Failure})
	}
	return err
}

// await hands a task out until its outcome is stored, and returns the outcome. emits are the types
// that its node emits.
func (h *handOuts) await(ctx context.Context, q QueuedTask, emits []emitted) ([]byte, error) {
	if _, local := h.g.opt.queues.(*LocalQueue); local {
		return h.awaitDone(ctx, q, emits)
	}
	at := awaited{awaitedStep{q.Namespace, q.Base}, checkpoint.OutcomeName{Task: q.Task, Name: q.Execution}}
	polled := h.watch(at)
	defer h.unwatch(at)
	ctx, cancel := context.WithCancel(ctx)
	type answer struct {
		b   []byte
		err error
	}
	done := make(chan answer, 1)
	go func() {
		b, err := h.awaitDone(ctx, q, emits)
		done <- answer{b, err}
	}()
	select {
	case b := <-polled:
		cancel()
		<-done
		return b, nil
	case a := <-done:
		cancel()
		return a.b, a.err
	}
}

// awaitDone hands a task out, and again if there is no outcome when its worker has returned.
func (h *handOuts) awaitDone(ctx context.Context, q QueuedTask, emits []emitted) ([]byte, error) {
	const most = 5 * time.Second
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, most) {
		err := h.do(ctx, q, emits)
		if err == nil || ctx.Err() == nil {
			b, found, err := h.outcome(ctx, q)
			if found || err != nil && ctx.Err() == nil && !passing(err) {
				return b, err
			}
		}
		if !exec.Rest(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// do hands a task out once. A panic of the TaskQueue is its error.
func (h *handOuts) do(ctx context.Context, q QueuedTask, emits []emitted) (err error) {
	defer rescue(&err)
	if q.Emits {
		return h.relay(ctx, q, emits)
	}
	return h.g.opt.queues.Do(ctx, q)
}

// outcome reads the stored outcome of one task.
func (h *handOuts) outcome(ctx context.Context, q QueuedTask) (b []byte, found bool, err error) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.g.opt.saverTimeout)
	defer cancel()
	writes, err := h.g.opt.saver.Outcomes(call, checkpoint.OutcomeQuery{
		Thread: h.thread, Namespace: q.Namespace, Base: q.Base, Names: []checkpoint.OutcomeName{{Task: q.Task, Name: q.Execution}},
	})
	if err != nil {
		return nil, false, &SaverError{Graph: h.g.name, Thread: h.thread, Step: -1, Op: "outcomes", Err: err}
	}
	if len(writes) == 0 {
		return nil, false, nil
	}
	return writes[0].Payload, true, nil
}

// watch looks for the outcome of a task until unwatch is called, and sends it to the channel.
func (h *handOuts) watch(at awaited) <-chan []byte {
	found := make(chan []byte, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting[at] = found
	if !h.polls {
		h.polls = true
		h.wg.Go(h.poll)
	}
	return found
}

func (h *handOuts) unwatch(at awaited) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiting, at)
}

// poll looks for the outcomes of all watched tasks, by one call for each superstep. It looks
// often while it finds some, but for at most a tenth of the time, and once a second when tasks
// take long. It ends with the run, or when none is watched.
func (h *handOuts) poll() {
	for pause := leastPoll; exec.Rest(h.ctx, pause); {
		h.mu.Lock()
		queries := make(map[awaitedStep][]checkpoint.OutcomeName)
		for at := range h.waiting {
			queries[at.awaitedStep] = append(queries[at.awaitedStep], at.OutcomeName)
		}
		h.polls = len(queries) > 0
		h.mu.Unlock()
		if len(queries) == 0 {
			return
		}
		start, found := time.Now(), 0
		for of, names := range queries {
			found += h.deliver(of, names)
		}
		pause = min(2*pause, mostPoll)
		if found > 0 {
			pause = min(max(leastPoll, 10*time.Since(start)), mostPoll)
		}
	}
}

// deliver reads outcomes of one superstep, and returns how many it found. If that fails, the
// next poll reads them.
func (h *handOuts) deliver(of awaitedStep, names []checkpoint.OutcomeName) (delivered int) {
	defer rescue(new(error))
	ctx, cancel := context.WithTimeout(h.ctx, h.g.opt.saverTimeout)
	defer cancel()
	writes, err := h.g.opt.saver.Outcomes(ctx, checkpoint.OutcomeQuery{
		Thread: h.thread, Namespace: of.namespace, Base: of.base, Names: names,
	})
	if err != nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range writes {
		at := awaited{of, checkpoint.OutcomeName{Task: writes[i].Task, Name: writes[i].Name}}
		if found := h.waiting[at]; found != nil {
			found <- writes[i].Payload
			delete(h.waiting, at)
			delivered++
		}
	}
	return delivered
}

// checkDurability returns an error if a run of a graph with queues has another durability than
// Sync.
func checkDurability(g *core, o *runOptions) error {
	if g.queued && o.durability != Sync {
		return errors.New("a node has a Queue, which needs the durability Sync: workers load the state from the saver")
	}
	return nil
}
