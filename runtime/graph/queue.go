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
	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// Queue makes the workers of the named queue run the tasks of the node, in this process or in
// others. A task waits until such a worker is free. Package worker has the option Queues for them.
//
// The process that runs the thread hands a task out. The worker loads the state from the saver,
// runs the node and stores its outcome. Then the process of the thread continues as if it had run
// the node itself. Merge order, task keys, retries and questions are the same. If the worker dies,
// another one runs the task again, with the same key. If the process of the thread dies, no stored
// outcome is lost.
//
// Timeout, and the If of Retry, apply in the worker. A Fallback runs in the process of the thread.
// An error of the node arrives as a *QueueError with its text. Untracked fields of the state are
// zero in the node. Values that it emits are dropped, unless Emits declares their types and the
// TaskQueue is a Relay. Graph.Run, which stores nothing, runs the node itself. Section 23 of the
// rules has the details.
//
// A node of a subgraph can have a Queue, at any depth. A subgraph node cannot: give one to the
// nodes in it. Queue needs a Saver and the durability Sync, both of the graph of the thread.
func Queue(name string) NodeOption {
	return singleNodeOption("Queue", func(o *nodeOptions) { o.queue = name })
}

// Queues sets what hands tasks of nodes with a Queue to workers. The default is a LocalQueue of
// the compiled graph, which workers of the same process serve.
func Queues(q TaskQueue) Option { return singleOption("Queues", func(o *options) { o.queues = q }) }

// TaskQueue hands tasks to the workers of queues. It may lose tasks and hand them out twice: the
// saver is the only truth, and of the outcomes of one task the first counts. It is safe for
// concurrent use.
type TaskQueue interface {
	// Do hands t to a worker of its queue, and returns nil when the worker has returned. It waits
	// as long as no worker is free. If it returns an error, for example because the worker has
	// shown no sign of life for some time, the caller looks for the outcome and calls Do again. If
	// ctx ends, Do returns soon. A task with the same Base, Task and Execution is the same task.
	Do(ctx context.Context, t QueuedTask) error
	// Serve calls run for tasks of one queue of one graph, at most slots at a time, until ctx
	// ends. Then it returns when the calls of run have. The context of run does not end with ctx.
	// An error of run means that the task must be handed out again. Serve returns an error if it
	// cannot receive tasks any longer; the caller then calls it again after a pause.
	Serve(ctx context.Context, graph, queue string, slots int, run func(context.Context, QueuedTask) error) error
}

// KeepingQueue is a TaskQueue that loses no task. A run of package worker does not wait for tasks
// in such a queue. When it has nothing else to do, it ends as Waiting, and gives up its thread.
// The outcome of a task makes the thread due.
type KeepingQueue interface {
	TaskQueue
	// HandOut stores t until a worker of its queue has run it, and does not wait for that. If t is
	// stored already, HandOut changes nothing.
	HandOut(ctx context.Context, t QueuedTask) error
}

// QueuedTask is a task that a worker of a queue runs. It refers to stored data, and contains none.
type QueuedTask struct {
	Queue     string        `json:"queue"`
	Graph     string        `json:"graph"`
	Thread    string        `json:"thread"`
	Namespace string        `json:"namespace,omitempty"` // of the subgraph call that the task is in; empty for the graph itself
	At        checkpoint.ID `json:"at"`                  // the checkpoint with the state
	Base      checkpoint.ID `json:"base"`                // the record that made the task due
	Node      ID            `json:"node"`                // as the graph of the process that waits for the task has it
	Task      string        `json:"task"`                // its key
	Execution string        `json:"execution"`           // the name of its outcome
	Round     int           `json:"round"`               // how often the task began again by Rerun, an edit or a Resume after its failure
	Attempt   int           `json:"attempt"`             // from 1
	Emits     bool          `json:"emits,omitempty"`     // the caller of Do takes the values that the node emits
	Wakes     bool          `json:"wakes,omitempty"`     // no run waits for the outcome, which makes the thread due
}

// QueueError is the error of a node that a worker of a queue ran. It has the text of the error,
// not its type. It is context.DeadlineExceeded if the Timeout of the node passed, and
// checkpoint.ErrTooLarge if the storage has refused the result for its size.
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
// Timeout of the node passed. It is checkpoint.ErrTooLarge if the storage has refused the result.
func (e *QueueError) Is(target error) bool {
	return e.class == classTimeout && target == context.DeadlineExceeded || e.class == classTooLarge && target == checkpoint.ErrTooLarge
}

// failureClass says what a failure in a worker was, in stored outcomes.
type failureClass uint64

const (
	classError   failureClass = iota
	classTimeout              // the Timeout passed
	classPanic
	classFault    // Strict finds fault with the node: nothing retries or handles it
	classTooLarge // the storage has refused the result for its size: the same
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

// timeoutHere returns the Timeout of attempts as the process of the thread knows it. Of a node
// with a queue the worker keeps it.
func (n *node) timeoutHere() time.Duration {
	if n.queue != "" {
		return 0
	}
	return n.timeout
}

// checkQueue reports a Queue that cannot work.
func (c *compiler[S, U]) checkQueue(n *nodeDecl[S, U]) {
	if !slices.Contains(n.opts.given.once, "Queue") {
		return
	}
	switch id := string(n.id); {
	case hasTwice(n.opts.emits):
		c.fault("node %q: its Emits name two types alike; rename one of them", id)
	case n.opts.queue == "":
		c.fault("node %q: its Queue has no name", id)
	case n.opts.keeps:
		c.fault("node %q has a Queue and KeepUpdateOnError; return what must be kept as a result", id)
	}
}

// hasTwice reports whether two types have the same name.
func hasTwice(types []emitted) bool {
	seen := make(map[string]bool)
	for _, e := range types {
		if seen[e.name] {
			return true
		}
		seen[e.name] = true
	}
	return false
}

// checkQueues reports options of the graph that do not fit its queues and those of its subgraphs.
func (c *compiler[S, U]) checkQueues() {
	o, given := &c.g.opt, slices.Contains(c.g.opt.given.once, "Queues")
	switch {
	case given && value.IsNil(o.queues):
		c.fault("Queues is nil (%T); pass a TaskQueue, or leave the option out", o.queues)
	case given && o.nested:
		c.fault("a SubgraphOnly graph has no Queues; pass them to the graph of the thread")
	case given && !c.g.queued:
		c.fault("Queues without a node with a Queue has nothing to hand out")
	}
	switch {
	case !c.g.queued || o.nested:
		return
	case !slices.Contains(o.given.once, "Saver"):
		c.fault("a node has a Queue, which needs a Saver: workers load the state from it")
	case o.durability != Sync:
		c.fault("a node has a Queue, which needs the durability Sync: workers load the state from the saver")
	}
	if o.queues == nil {
		o.queues = new(LocalQueue)
	}
}

// endRound returns endRoundOf for a task that has failed, so that the next run executes it again.
func (r *run) endRound(sl *exec.Task) []checkpoint.Write {
	if r.opt.handOuts == nil || sl.Progress != exec.Failed {
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
