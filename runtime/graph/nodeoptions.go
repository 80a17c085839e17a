package graph

import (
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
)

// NodeOption is an option of every function that adds a node. Some options fit only some kinds of
// nodes: Compile reports an option that has no effect on the kind of its node.
//
// An option that holds one value must be given at most once: Compile reports the second as a
// fault. FormerIDs, Targets, questions and signals add to the values given before.
type NodeOption interface{ node(*nodeOptions) }

type nodeOptions struct {
	given     given
	retry     []RetryPolicy
	timeout   time.Duration
	idle      time.Duration
	uncut     bool
	defers    bool
	questions []askable
	signals   []receivable
	was       []ID
	targets   []ID
	remembers bool
	unstored  bool
	continues bool
	keeps     bool
	limits    []Limiter
	queue     string
	start     time.Duration
	detail    bool
	catches   bool
	writes    []string // nil if not declared
}

// nodeOption sets options of a node.
type nodeOption func(*nodeOptions)

func (f nodeOption) node(o *nodeOptions) { f(o) }

// singleNodeOption is an option of a node that can be given once.
func singleNodeOption(name string, set func(*nodeOptions)) NodeOption {
	return nodeOption(func(o *nodeOptions) {
		o.given.set(name)
		set(o)
	})
}

// Timeout cancels the context of an attempt of the node after d, and waits until the node returns.
// Go cannot stop a goroutine, so a node that ignores its context holds up the run. The attempt
// then fails, unless the node returned a nil error. Compile reports a d of 0 or less, and a second
// Timeout of the node.
func Timeout(d time.Duration) NodeOption {
	return singleNodeOption("Timeout", func(o *nodeOptions) { o.timeout = d })
}

// IdleTimeout cancels the context of an attempt of the node if it calls neither Emit nor Progress
// for d. Calls in a subgraph of the node count. So a node is stopped when it hangs, and not when
// it is slow. Then the attempt fails as with Timeout. The error is ErrIdleTimeout, and
// context.DeadlineExceeded too.
//
// The time begins with the attempt, and again with each call of Emit or Progress. With a Queue it
// counts in the worker. Compile reports a d of 0 or less, and a second IdleTimeout of the node.
func IdleTimeout(d time.Duration) NodeOption {
	return singleNodeOption("IdleTimeout", func(o *nodeOptions) { o.idle = d })
}

// Uncancellable keeps a cancel away from the attempts of the node, for example while it charges a
// card. The context of such an attempt does not end with:
//
//   - Thread.Cancel, CancelPending and a caller that leaves its stream,
//   - the end of the context of the call, and the CancelTimeout phase of a worker,
//   - the failure of a sibling, and a lost race.
//
// A cancel of the run takes effect when the superstep has committed. The siblings of the node, its
// retries and its routes finish before that. If the superstep cannot commit, because a task waits
// or fails, the cancel takes effect when its tasks have ended. The results are then stored. A
// cancel from before the superstep takes effect before the node begins.
//
// A failed sibling and a lost race cancel the other tasks of the superstep as without the option.
// The result of a lost race does not count.
//
// The context ends when the Timeout or IdleTimeout of the node has passed, and if another run
// takes the thread. A drain ends the run after the superstep, as without the option. After a
// crash, a cancel ends the thread without another attempt. A worker that shuts down gives up a
// node that runs longer than DrainTimeout and CancelTimeout together.
//
// On a subgraph the option applies to the whole call. Only a drain ends such a call, after a
// superstep of the subgraph. Compile reports the option for a node with a Queue.
func Uncancellable() NodeOption {
	return singleNodeOption("Uncancellable", func(o *nodeOptions) { o.uncut = true })
}

// Deferred makes a due node wait until only deferred nodes are due. So the node runs after all
// branches have ended, however long they are.
func Deferred() NodeOption {
	return singleNodeOption("Deferred", func(o *nodeOptions) { o.defers = true })
}

// Targets lists the nodes that a node may choose to run next, and End if it may end the branch. A
// RoutingNode and a RoutingTaskNode choose by the Next that they return. A subgraph chooses by
// ToParent. Compile reports a routing node without targets.
func Targets(ids ...ID) NodeOption {
	return nodeOption(func(o *nodeOptions) { o.targets = append(o.targets, ids...) })
}

// FormerIDs lists earlier ids of the node. Pending tasks at a former id resume at this node, with
// their stored results, questions and keys. Keep a former id listed as long as such threads may
// exist. Snapshots show the ids that were stored. FormerIDs does not apply to tasks that wait in a
// Queue. Such a task needs a worker whose graph has the node under the stored id.
func FormerIDs(ids ...ID) NodeOption {
	return nodeOption(func(o *nodeOptions) { o.was = append(o.was, ids...) })
}

// CatchAll makes a task node run the sends to task nodes that the graph no longer has, and whose
// ids no FormerIDs lists. So a stored thread continues when, for example, a tool of an agent was
// removed. The type of the node's payload must decode the payloads of the removed nodes.
//
// Such a task begins again, with a key of its own: questions, durable calls and attempts of the
// removed node do not count. If the removed node has finished the task, its result counts. The
// thread continues with the edges of the catch-all. A routing node whose stored choice sends to a
// removed node lists the catch-all in its Targets.
//
// A graph has at most one catch-all. It needs no edge or route that leads to it. An older program
// does not have a new task node, so its catch-all also runs the sends to that node. In a rolling
// upgrade, therefore release the new node first, and the sends to it later.
func CatchAll() NodeOption {
	return singleNodeOption("CatchAll", func(o *nodeOptions) { o.catches = true })
}

// ContinueOnError lets the other tasks of the superstep finish if a task of the node fails.
// Without it, they are cancelled. The run fails after they have ended, with the errors of all
// failed tasks, which NodeErrors lists. The superstep is not committed, but the results of the
// other tasks are stored, so Resume runs only the failed tasks. If a fallback handles the failure,
// no task has failed.
func ContinueOnError() NodeOption {
	return singleNodeOption("ContinueOnError", func(o *nodeOptions) { o.continues = true })
}

// KeepUpdateOnError keeps the update that the node returns with an error, for example the tokens
// that a failed attempt has paid for. Without it, such an update is dropped. Kept updates merge
// before the result of the task, in the order of the attempts, as changes of the same task. A
// later attempt or the fallback returns that result, in this run or after a Resume. If an input
// takes the place of the task before it succeeds, the kept updates merge before the input. So the
// partial answer of a model stays in the state after a cancel and the next input.
//
// An update is stored when its attempt has failed. With OnExit it is stored when the run ends.
// Rerun drops the kept updates of a node. Two kinds of updates are not kept: those of attempts
// that ask a question without an answer, and those in which Strict finds a fault.
func KeepUpdateOnError() NodeOption {
	return singleNodeOption("KeepUpdateOnError", func(o *nodeOptions) { o.keeps = true })
}

// Retry runs a failed node again. It does not retry a node whose run was cancelled. It retries a
// panic only by a policy whose If reports true for the *PanicError.
// With several policies, the first one that applies to the error counts, with its Attempts and its
// pauses. After a policy without an If, others can apply only to panics. An error that no policy
// applies to is not retried. Compile reports a second policy without an If.
//
// An error that has a method RetryAfter() time.Duration, found by errors.As, sets the pause. The
// next attempt begins after exactly that delay, and Max does not bound it. The function RetryAfter
// makes such an error. A delay of 0 or less is ignored.
//
// On a thread, a pause that is longer than the lease (15 s by default) is a Timer. A run with
// nothing else to do then ends with the status Waiting and a nil error. The Result lists the pause
// among its Timers. The thread is due at the next attempt, which a worker or Resume makes.
// Attempts counts across such runs.
func Retry(policies ...RetryPolicy) NodeOption {
	return singleNodeOption("Retry", func(o *nodeOptions) { o.retry = policies })
}

// RetryPolicy configures how often, and after which pause, a failed node runs again. Its functions
// are called concurrently.
type RetryPolicy struct {
	// If reports whether the policy applies to an error. A nil If applies to every error but a
	// panic. A panic is a *PanicError, which errors.As finds in the error of a subgraph, too. With
	// an Interceptor of tasks, If is called twice for an error.
	If func(error) bool
	// Attempts is the maximum number of attempts of the task, including the first. It counts all
	// attempts, whichever policy applied to their errors. If the third attempt fails with an error
	// of a policy with 3 Attempts, it is not retried, although the others failed with errors of
	// another policy. 0 and 1 mean no retry.
	Attempts int
	// Base is the pause before the second attempt. Each later pause is twice the one before. The
	// default is 100 ms.
	Base time.Duration
	// Max bounds a pause. The default is 30 s.
	Max time.Duration
	// Jitter shortens pauses, so that tasks that failed together do not retry together. Of a pause
	// d the run waits for d/2 + Jitter()*d/2. nil is a random number from 0 to 1: the equal jitter
	// of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. A function
	// that always returns 1 turns it off.
	Jitter func() float64
}

// RetryAfter returns err with a delay after which Retry runs the node again, for example that of a
// Retry-After header. The text is that of err, and errors.Is and errors.As find err. RetryAfter
// returns nil if err is nil.
func RetryAfter(err error, delay time.Duration) error {
	if err == nil {
		return nil
	}
	return &delayedError{err, delay}
}

type delayedError struct {
	error
	delay time.Duration
}

func (e *delayedError) Unwrap() error { return e.error }

// RetryAfter returns the delay.
func (e *delayedError) RetryAfter() time.Duration { return e.delay }

// applies reports whether the policy is for err.
func (p RetryPolicy) applies(err error) bool {
	if p.If != nil {
		return p.If(err)
	}
	var panicked *PanicError
	return !errors.As(err, &panicked)
}

// policies returns the retry policies of the node.
func (n *node) policies() (policies []exec.Retry) {
	for i, p := range n.retry {
		p.If = p.applies
		if n.queue != "" {
			p.If = appliesElsewhere(p.If, i)
		}
		policies = append(policies, exec.Retry(p))
	}
	return policies
}
