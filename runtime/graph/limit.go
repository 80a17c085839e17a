package graph

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// Limiter decides when an attempt of a node may start. MaxConcurrent and Rate return limiters for
// one process, and MaxConcurrentGlobal and RateGlobal those for several. PerLabel makes one for
// each value of a label. Implement Limiter for others. It must be safe for concurrent use.
type Limiter interface {
	// Acquire waits until an attempt may start, and returns a function that the run calls when the
	// attempt has ended; nil for none. Acquire returns an error if ctx ends.
	Acquire(ctx context.Context) (release func(), err error)
}

// Limit makes each attempt of the node wait for all of the limiters, in the given order. Nodes,
// graphs and runs that have the same Limiter share it: make it once, and pass it to each of them.
//
// The wait precedes the attempt: neither Timeout nor the number of attempts includes it, and
// EventTaskStarted follows it. A task that waits counts towards Concurrency. A cancelled run
// leaves the queue. The limiters are released after each attempt. So a task that pauses before a
// retry does not hold them, and a fallback does not need them. An error of a Limiter fails the
// task without a retry or fallback.
//
// A node within a subgraph must not have a Limiter that the subgraph's node holds, because it
// would wait for itself. Compile reports such a MaxConcurrent, MaxConcurrentGlobal or PerLabel.
// Compile also reports a nil Limiter and a second Limit of a node.
func Limit(limiters ...Limiter) NodeOption {
	return singleNodeOption("Limit", func(o *nodeOptions) { o.limits = limiters })
}

// Rate returns a Limiter that lets attempts start at the times that w allows. A *rate.Limiter of
// golang.org/x/time/rate is such a w. The tasks that wait for it start in the order of their
// arrival. Wait must return an error when its context ends. Its context never has a deadline, so a
// task whose turn would be too late waits until the context of the run ends. The run then ends as
// with every context that has ended. Compile reports a nil w.
func Rate(w interface{ Wait(context.Context) error }) Limiter { return rated{w} }

type rated struct {
	waiter interface{ Wait(context.Context) error }
}

// Acquire implements Limiter. The waiter does not see the deadline of ctx, because a *rate.Limiter
// refuses a wait that is longer. Such a task waits until ctx ends, as behind any other limiter.
func (r rated) Acquire(ctx context.Context) (func(), error) { return nil, r.waiter.Wait(undated{ctx}) }

// undated is a context that hides its deadline. It ends all the same.
type undated struct{ context.Context }

// Deadline implements context.Context.
func (undated) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// MaxConcurrent returns a Limiter that lets n attempts run at the same time. The others wait in a
// queue: the first to wait is the first to run. Compile reports an n below 1.
func MaxConcurrent(n int) Limiter {
	c := &concurrent{most: n, free: n}
	c.head.next, c.head.prev = &c.head, &c.head
	c.end = c.release
	return c
}

// concurrent is a semaphore with a queue.
type concurrent struct {
	most int
	end  func() // release
	mu   sync.Mutex
	free int    // 0 if somebody waits
	head waiter // of a ring: head.next has waited longest
}

// waiter is a place in the queue.
type waiter struct {
	next, prev *waiter
	turn       chan struct{} // closed when it leaves the queue with a permit
}

// Acquire implements Limiter.
func (c *concurrent) Acquire(ctx context.Context) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.free > 0 {
		c.free--
		c.mu.Unlock()
		return c.end, nil
	}
	w := &waiter{next: &c.head, prev: c.head.prev, turn: make(chan struct{})}
	w.prev.next, c.head.prev = w, w
	c.mu.Unlock()
	select {
	case <-w.turn:
		return c.end, nil
	case <-ctx.Done():
		c.leave(w)
		return nil, ctx.Err()
	}
}

// leave takes a waiter out of the queue. If it has a permit already, the next one gets it.
func (c *concurrent) leave(w *waiter) {
	c.mu.Lock()
	waits := w.next != nil
	if waits {
		w.unlink()
	}
	c.mu.Unlock()
	if !waits {
		c.release()
	}
}

func (w *waiter) unlink() {
	w.prev.next, w.next.prev = w.next, w.prev
	w.next, w.prev = nil, nil
}

// release gives the permit of an attempt to who has waited longest.
func (c *concurrent) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.head.next
	if first == &c.head {
		c.free++
		return
	}
	first.unlink()
	close(first.turn)
}

// checkLimits reports limiters that cannot work. sub is the graph of a subgraph's node.
func (c *compiler) checkLimits(id string, limiters []Limiter, sub *core) {
	for _, l := range limiters {
		if fault := faultOf(l); fault != "" {
			c.fault("node %q: its Limit %s", id, fault)
		}
		switch l.(type) {
		case *concurrent, *permits, *perLabel:
			c.checkInner(id, l, sub)
		}
	}
}

// faultOf returns why a limiter cannot work; empty if it can.
func faultOf(l Limiter) string {
	switch l := l.(type) {
	case rated:
		if value.IsNil(l.waiter) {
			return "has a Rate of nil; pass a limiter"
		}
	case *concurrent:
		if l.most < 1 {
			return fmt.Sprintf("is MaxConcurrent(%d); want at least 1", l.most)
		}
	case *permits:
		if l.most < 1 || l.name == "" || value.IsNil(l.saver) {
			return fmt.Sprintf("is MaxConcurrentGlobal(saver, %q, %d); want a saver, a name, and at least 1", l.name, l.most)
		}
	case *budget:
		if l.most < 1 || l.name == "" || l.period <= 0 || value.IsNil(l.saver) {
			return fmt.Sprintf("is RateGlobal(saver, %q, %d, %s); want a saver, a name, at least 1, and a period above 0", l.name, l.most, l.period)
		}
	case *perLabel:
		if l.label == "" || l.limiter == nil {
			return fmt.Sprintf("is PerLabel(%q, limiter); want the name of a label, and a function", l.label)
		}
	default:
		if value.IsNil(l) {
			return "is nil; leave it out"
		}
	}
	return ""
}

// checkInner reports a limiter of a subgraph's node that a node within holds, too.
func (c *compiler) checkInner(id string, l Limiter, sub *core) {
	if inner := sub.limits(l); inner != "" {
		c.fault("subgraph %q and its node %q have the same limiter, so the node waits for the subgraph, which waits for the node; make one for each",
			id, inner)
	}
}

// limits returns the first node that waits for l, after the nodes of the subgraphs that lead to
// it; empty for none.
func (g *core) limits(l Limiter) (path string) {
	if g == nil {
		return ""
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		if slices.Contains(n.limits, l) {
			return string(n.id)
		}
		if inner := n.sub.limits(l); inner != "" {
			return string(n.id) + "/" + inner
		}
	}
	return ""
}

// limiters returns the limiters of the node.
func (n *node) limiters() (limiters []exec.Limiter) {
	for _, l := range n.limits {
		limiters = append(limiters, l)
	}
	return limiters
}
