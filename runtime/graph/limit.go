package graph

import (
	"context"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// Limiter decides when an attempt of a node may start. MaxConcurrent and Rate return limiters for
// one process. Implement it for others, such as a limit that all processes share. It must be safe
// for concurrent use.
type Limiter interface {
	// Acquire waits until an attempt may start, and returns a function that the run calls when the
	// attempt has ended; nil for none. Acquire returns an error if ctx ends.
	Acquire(ctx context.Context) (release func(), err error)
}

// Limit lets attempts of the node wait for every one of the limiters, in the given order. Nodes,
// graphs and runs that have the same Limiter share it: make it once, and pass it to each of them.
//
// The wait precedes the attempt: neither Timeout nor the number of attempts includes it, and
// EventTaskStarted follows it. A task that waits takes one place of Concurrency. A cancelled run
// leaves the queue. The limiters are released after each attempt. So a task that pauses before a
// retry does not hold them, and a fallback does not need them. An error of a Limiter fails the
// task without a retry or fallback.
//
// A node within a subgraph must not have a Limiter that the subgraph's node holds: it would wait
// for itself.
func Limit(limiters ...Limiter) AnyNodeOption {
	return singleNodeOption("Limit", func(o *nodeOptions) { o.limits = limiters })
}

// Rate returns a Limiter that lets attempts start at the times that w allows. A *rate.Limiter of
// golang.org/x/time/rate is such a w, and serves attempts in order.
func Rate(w interface{ Wait(context.Context) error }) Limiter { return rated{w} }

type rated struct {
	waiter interface{ Wait(context.Context) error }
}

// Acquire implements Limiter.
func (r rated) Acquire(ctx context.Context) (func(), error) { return nil, r.waiter.Wait(ctx) }

// MaxConcurrent returns a Limiter that lets n attempts run at the same time. The others wait in a
// queue: the first to wait is the first to run. n must be more than 0.
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

// checkLimits reports limiters that cannot work.
func (c *compiler[S, U]) checkLimits(id string, limiters []Limiter) {
	for _, l := range limiters {
		switch l := l.(type) {
		case rated:
			if value.IsNil(l.waiter) {
				c.fault("node %q: its Limit has a Rate of nil", id)
			}
		case *concurrent:
			if l.most < 1 {
				c.fault("node %q: its Limit is Concurrent(%d); want at least 1", id, l.most)
			}
		default:
			if value.IsNil(l) {
				c.fault("node %q: its Limit is nil", id)
			}
		}
	}
}

// limiters returns the limiters of the node.
func (n *node) limiters() (limiters []exec.Limiter) {
	for _, l := range n.limits {
		limiters = append(limiters, l)
	}
	return limiters
}
