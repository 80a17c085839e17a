package graph

import (
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// head is the newest checkpoint of a thread, as left by a run of this graph.
//
// It is valid while storage has the same head. No check is needed, because the opening Append of
// the next run names the id of the head. An id always stands for the same state.
type head struct {
	thread  string
	birth   checkpoint.ID  // of the thread
	request string         // the RequestID of its input; empty for none
	labels  *task.Labels   // of the thread; nil for none
	state   keptState      // the state at the opening of the run; nil for an empty one
	tail    *journal.Tail  // the records that the run has stored since
	chained int            // the records since the last snapshot
	shared  bool           // state is that of the run itself, at its end
	seen    uint64         // the newest message that the run had seen
	waits   journal.Inputs // that waited at its end

	bytes        int // its part of the bound
	newer, older *head
}

// keptState is a live.Live without the types of its state.
type keptState interface {
	Decode(snapshot []byte) error
	Apply(delta []byte) error
}

// heads is a bounded set of heads in memory. A run takes the head of its thread out, and puts in
// the head that it leaves. heads is safe for concurrent use.
type heads struct {
	most int // the bound in bytes; 0 for no heads

	mu       sync.Mutex
	byThread map[string]*head
	bytes    int
	newest   *head
	oldest   *head
}

// share limits a head to 1/share of the bound.
const share = 8

// take removes and returns the head of a thread. It returns nil if there is no head, or if fits
// rejects it; then the head stays.
func (c *heads) take(thread string, fits func(h *head) bool) *head {
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
func (c *heads) id(thread string) checkpoint.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.byThread[thread]; h != nil {
		return h.tail.Last.ID
	}
	return checkpoint.ID{}
}

// giveBack puts back a head that was taken, unless the thread has another head since then.
func (c *heads) giveBack(h *head) {
	if c.id(h.thread).IsZero() {
		c.put(h)
	}
}

// put adds a head, unless it is too large, and removes the least recently used ones.
func (c *heads) put(h *head) {
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
		c.byThread = make(map[string]*head)
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
func (c *heads) drop(thread string) {
	c.take(thread, func(*head) bool { return true })
}

// update brings the state up to the newest record. The state is not nil.
func (h *head) update() error {
	if h.shared {
		return nil
	}
	if err := h.tail.Fold(h.state.Decode, h.state.Apply); err != nil {
		return err
	}
	h.tail.Forget()
	return nil
}

// remove drops a head from the set. The caller holds c.mu.
func (c *heads) remove(h *head) {
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
