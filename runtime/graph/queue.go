package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Queue makes the workers of the named queue run the tasks of the node, in this process or in
// others. A task waits until such a worker is free. Package worker has the option Queues for them.
//
// A run that reaches the node stores the task as a thread of its own. When nothing else can run,
// the run ends with the status Waiting, and holds nothing. A worker of the queue takes the task,
// loads the state from the saver, runs the node and stores its outcome. The outcome makes the
// thread due. Then a worker of the graph, or Resume, continues as if the run had executed the node
// itself. Merge order, task keys, retries and questions are the same. If the worker of the queue
// dies, another one runs the task again, with the same key.
//
// A worker that runs the thread may have a free slot of the queue. Then the run executes the task
// in that slot, if the task is the only one of its superstep. The task then costs as much as one
// without a queue. Its outcome is the same as in another worker.
//
// Timeout, and the If of Retry, apply in the worker of the queue. A Fallback runs in the process
// of the thread. An error of the node arrives as a *QueueError with its text. In another worker,
// Untracked fields of the state are zero in the node, and values that it emits are dropped.
// Graph.Run, which stores nothing, runs the node itself. Section 23 of docs/rules.md has the
// details.
//
// A node of a subgraph can have a Queue, at any depth. A subgraph node cannot: give one to the
// nodes in it. Queue needs a Saver and the durability Sync, both of the graph of the thread.
func Queue(name string) NodeOption {
	return singleNodeOption("Queue", func(o *nodeOptions) { o.queue = name })
}

// StartTimeout makes an attempt of a node with a Queue fail if no worker holds the task d after it
// was handed out. The error is ErrStartTimeout. Retry hands the task out again as the next
// attempt, for another d. A Fallback runs in the process of the thread. The time is measured on
// the clock of the saver.
//
// The thread is due after d. The next run of the thread then fails the attempt, so it needs a
// worker of the graph, or Resume. A run that executes other tasks of the superstep fails the
// attempt when these have ended. A task that a worker has taken in time has no limit: see Timeout
// and IdleTimeout.
//
// The task is removed from the queue. A worker that takes it at that very moment may begin it; its
// outcome does not count. Compile reports a d of 0 or less, and a node without a Queue.
func StartTimeout(d time.Duration) NodeOption {
	return singleNodeOption("StartTimeout", func(o *nodeOptions) { o.start = d })
}

// QueueError is the error of a node that a worker of a queue ran. It has the text of the error,
// not its type. It is context.DeadlineExceeded if the Timeout of the node passed, and
// ErrStartTimeout if no worker has taken the task in time. It is checkpoint.ErrTooLarge if the
// storage has refused the result for its size.
type QueueError struct {
	Queue string
	Text  string

	class  failureClass
	policy int
	delay  time.Duration
}

func (e *QueueError) Error() string { return fmt.Sprintf("in queue %q: %s", e.Queue, e.Text) }

// RetryAfter returns the delay of an error that RetryAfter made in the node, else 0.
func (e *QueueError) RetryAfter() time.Duration { return e.delay }

// Is reports whether target is the cause of the failure. It is context.DeadlineExceeded if the
// Timeout of the node passed, and ErrStartTimeout if its StartTimeout passed. It is
// checkpoint.ErrTooLarge if the storage has refused the result.
func (e *QueueError) Is(target error) bool {
	cause := map[failureClass]error{
		classTimeout: context.DeadlineExceeded, classTooLarge: checkpoint.ErrTooLarge, classStart: ErrStartTimeout,
	}[e.class]
	return cause != nil && target == cause
}

// failureClass says what a failure in a worker was, in stored outcomes.
type failureClass uint64

const (
	classError   failureClass = iota
	classTimeout              // the Timeout passed
	classPanic
	classFault    // Strict finds fault with the node: nothing retries or handles it
	classTooLarge // the storage has refused the result for its size: the same
	classStart    // no worker has taken the task in time; never stored
)

// appliesElsewhere returns the If of policy i of a node with a queue. The worker has called the If
// of the policy, because the error itself does not leave its process.
func appliesElsewhere(applies func(error) bool, i int) func(error) bool {
	return func(err error) bool {
		var q *QueueError
		if errors.As(err, &q) {
			return q.policy == i+1
		}
		return applies(err)
	}
}

// policyFor returns the number of the policy of Retry that applies to an error in a worker, from
// 1; 0 for none.
func (n *node) policyFor(err error) (policy int, failed error) {
	defer rescue(&failed)
	for i, p := range n.retry {
		if p.applies(err) {
			return i + 1, nil
		}
	}
	return 0, nil
}

// checkQueue reports a Queue that cannot work.
func (c *compiler) checkQueue(n *nodeDecl) {
	if !slices.Contains(n.opts.given.once, "Queue") {
		if n.opts.start != 0 {
			c.fault("node %q has a StartTimeout and no Queue; leave it out, or use Timeout", string(n.id))
		}
		return
	}
	switch id := string(n.id); {
	case n.opts.queue == "":
		c.fault("node %q: its Queue has no name", id)
	case n.opts.keeps:
		c.fault("node %q has a Queue and KeepUpdateOnError; return what must be kept as a result", id)
	case n.opts.uncut:
		c.fault("node %q has a Queue and Uncancellable; leave one of them out", id)
	}
}

// checkQueues reports options of the graph that do not fit its queues and those of its subgraphs.
func (c *compiler) checkQueues() {
	o := &c.g.opt
	switch {
	case !c.g.queued || o.nested:
		return
	case !slices.Contains(o.given.once, "Saver"):
		c.fault("a node has a Queue, which needs a Saver: workers load the state from it")
	case o.durability != Sync:
		c.fault("a node has a Queue, which needs the durability Sync: workers load the state from the saver")
	}
}

// takeSlot takes a slot of the queue of the only task of the superstep, so that the run executes
// the task. It takes none if a worker has executed the task before, or may do so now. The returned
// function frees the slot; nil if the run took none.
func (r *run) takeSlot() func() {
	if r.opt.queueSlot == nil || len(r.exec.Tasks) != 1 || r.g.nodes[r.exec.Tasks[0].Node].queue == "" {
		return nil
	}
	t := &r.exec.Tasks[0]
	if r.wasDue() || r.pending.ExecutedElsewhere(r.taskKey(&t.Task)) {
		return nil
	}
	free := r.opt.queueSlot(QueueGraph(r.opt.queues.name, r.g.nodes[t.Node].queue))
	if r.slot = free != nil; !r.slot {
		return nil
	}
	return func() { r.slot = false; free() }
}

// wasDue reports whether the superstep was due before the run. Then another run may have handed
// out its tasks, and died before its end, which notes that. The call of a subgraph that begins in
// such a superstep begins a superstep of its own.
func (r *run) wasDue() bool {
	root := r.opt.box.root
	return root.log.Resumed && root.steps == 0 && r.steps == 0 && !r.log.Began()
}

// callQueued calls the node of a queue in this process. An error of the node is a *QueueError, as
// that of a worker in another process.
func (r *run) callQueued(ctx context.Context, i int) error {
	t := &r.exec.Tasks[i]
	err := r.calledSafely(ctx, i)
	if err == nil || task.Waits(ctx) || r.exec.Cut(task.Parent(ctx), err) != nil || t.Calls.Failed() && ofStorage(err) {
		return err
	}
	n := &r.g.nodes[t.Node]
	e := new(journal.Execution)
	n.setFailure(e, r.g.exec[t.Node].TimedOut(ctx, err))
	e.Failure = r.redacted(e.Failure)
	return n.queueError(e)
}

// calledSafely is typedState.call. A panic is a *PanicError.
func (r *run) calledSafely(ctx context.Context, i int) (err error) {
	defer rescue(&err)
	return r.state.call(ctx, r, i)
}

// setFailure makes e the outcome of a task that failed with err.
func (n *node) setFailure(e *journal.Execution, err error) {
	var panicked *PanicError
	var mutation *MutationError
	var undeclared *UndeclaredError
	var carrier interface{ RetryAfter() time.Duration }
	if e.Policy, e.Failure = 0, err.Error(); errors.As(err, &carrier) {
		e.Delay = max(carrier.RetryAfter(), 0)
	}
	policy, broke := n.policyFor(err)
	switch {
	case errors.As(err, &panicked):
		e.Class, e.Failure, e.Policy = uint64(classPanic), fmt.Sprint(panicked.Value), policy
	case errors.As(err, &mutation), errors.As(err, &undeclared):
		e.Class = uint64(classFault)
	case tooLarge(err):
		e.Class = uint64(classTooLarge)
	case broke != nil:
		e.Failure = fmt.Sprintf("%s; its Retry: %s", e.Failure, broke)
	default:
		e.Policy = policy
	}
	if errors.Is(err, context.DeadlineExceeded) && e.Class == 0 {
		e.Class = uint64(classTimeout)
	}
}

// queueError returns the error of a task with the outcome e, which has failed.
func (n *node) queueError(e *journal.Execution) error {
	err := &QueueError{Queue: n.queue, Text: e.Failure, class: failureClass(e.Class), policy: e.Policy, delay: e.Delay}
	if err.class == classPanic {
		return fmt.Errorf("%w: %w", err, &PanicError{Value: e.Failure})
	}
	return err
}

// endRound returns endRoundOf for a task that has failed, so that the next run executes it again.
func (r *run) endRound(sl *exec.Task) []checkpoint.Write {
	if r.opt.queues == nil || sl.Progress != exec.Failed {
		return nil
	}
	return endRoundOf(r, sl.Node, r.taskKey(&sl.Task))
}

// endRoundOf returns the write after which the stored outcomes of a task of node n no longer
// count. A worker then executes the task again. endRoundOf returns nil if n has no queue.
func endRoundOf(r *run, n int, key string) []checkpoint.Write {
	if r.g.nodes[n].queue == "" {
		return nil
	}
	return []checkpoint.Write{journal.EndRound(r.log.Base, r.log.Namespace, key, r.pending.Round(key))}
}

// endRounds returns the writes that end the rounds of the due tasks of queues, at an edit of the
// state that they see. c is the newest checkpoint of their namespace before it.
func endRounds(g *core, c *checkpoint.Chain, namespace string) (writes []checkpoint.Write) {
	if !g.queued {
		return nil
	}
	for _, t := range c.Due {
		if n, ok := g.find(t.Node); ok && n > start && g.nodes[n].queue != "" {
			key := journal.DueKey(&c.Last, namespace, t)
			writes = append(writes, journal.EndRound(c.Last.Base, namespace, key, journal.Round(c.Writes, c.Last.Base, key)))
		}
	}
	return writes
}
