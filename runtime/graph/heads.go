package graph

import (
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/internal/live"
)

// head is the newest checkpoint of a thread, as left by a run of this graph.
//
// It is valid while storage has the same head. No check is needed, because the opening Append of
// the next run names the id of the head. An id always stands for the same state.
type head[S, U any] struct {
	thread  string
	birth   checkpoint.ID   // of the thread
	request string          // the RequestID of its input; empty for none
	labels  *task.Labels    // of the thread; nil for none
	state   live.Live[S, U] // the state at the opening of the run; nil for an empty one
	tail    *journal.Tail   // the records that the run has stored since
	chained int             // the records since the last snapshot
	shared  bool            // state is that of the run itself, at its end
	seen    uint64          // the newest message that the run had seen
	waits   journal.Inputs  // that waited at its end

	bytes        int // its part of the bound
	newer, older *head[S, U]
}

// heads is a bounded set of heads in memory. A run takes the head of its thread out, and puts in
// the head that it leaves. heads is safe for concurrent use.
type heads[S, U any] struct {
	most int // the bound in bytes; 0 for no heads

	mu       sync.Mutex
	byThread map[string]*head[S, U]
	bytes    int
	newest   *head[S, U]
	oldest   *head[S, U]
}

// share limits a head to 1/share of the bound.
const share = 8

// take removes and returns the head of a thread. It returns nil if there is no head, or if fits
// rejects it; then the head stays.
func (c *heads[S, U]) take(thread string, fits func(h *head[S, U]) bool) *head[S, U] {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.byThread[thread]
	if h == nil || !fits(h) {
		return nil
	}
	c.remove(h)
	return h
}

// id returns the id of the head of a thread; the zero ID if there is none.
func (c *heads[S, U]) id(thread string) checkpoint.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.byThread[thread]; h != nil {
		return h.tail.Last.ID
	}
	return checkpoint.ID{}
}

// giveBack puts back a head that was taken, unless the thread has another head since then.
func (c *heads[S, U]) giveBack(h *head[S, U]) {
	if c.id(h.thread).IsZero() {
		c.put(h)
	}
}

// put adds a head, unless it is too large, and removes the least recently used ones.
func (c *heads[S, U]) put(h *head[S, U]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.byThread[h.thread]; old != nil {
		c.remove(old)
	}
	if h.bytes > c.most/share {
		return
	}
	for c.bytes+h.bytes > c.most {
		c.remove(c.oldest)
	}
	if c.byThread == nil {
		c.byThread = make(map[string]*head[S, U])
	}
	c.byThread[h.thread] = h
	c.bytes += h.bytes
	if h.older = c.newest; h.older != nil {
		h.older.newer = h
	} else {
		c.oldest = h
	}
	c.newest = h
}

// drop removes the head of a thread after a call without input has changed the thread.
func (c *heads[S, U]) drop(thread string) {
	c.take(thread, func(*head[S, U]) bool { return true })
}

// copy brings the state up to the newest record, and returns a copy of it. empty returns an empty
// state.
func (h *head[S, U]) copy(empty func() live.Live[S, U]) (_ live.Live[S, U], err error) {
	defer rescue(&err)
	if h.state == nil {
		h.state = empty()
	}
	if !h.shared {
		if err := h.tail.Fold(h.state.Decode, h.state.Apply); err != nil {
			return nil, err
		}
		h.tail.Forget()
	}
	return h.state.Clone(), nil
}

// remove drops a head from the set. The caller holds c.mu.
func (c *heads[S, U]) remove(h *head[S, U]) {
	delete(c.byThread, h.thread)
	c.bytes -= h.bytes
	if h.newer != nil {
		h.newer.older = h.older
	} else {
		c.newest = h.older
	}
	if h.older != nil {
		h.older.newer = h.newer
	} else {
		c.oldest = h.newer
	}
	h.newer, h.older = nil, nil
}
