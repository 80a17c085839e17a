package graph

import (
	"sync"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/live"
)

// head is the newest checkpoint of a thread, as a run of this graph has left it.
//
// It is right for as long as it is the head that storage has. That needs no check of its own: what is built on it is stored by an
// opening Append that names its id, and an id stands for the same state for ever.
type head[S, U any] struct {
	thread  string
	request string          // the RequestID of its input; empty for none
	state   live.Live[S, U] // the state that the run was opened on; nil for an empty one
	tail    *journal.Tail   // what the run has stored since
	chained int             // the records since the last snapshot
	shared  bool            // state is that of the run itself, at its end

	bytes        int // that it takes of the bound
	newer, older *head[S, U]
}

// heads keeps heads in memory, of at most so many bytes. A head is given to one run, which does not put it back: it puts
// the head that it leaves.
type heads[S, U any] struct {
	most int // 0 for no heads

	mu       sync.Mutex
	byThread map[string]*head[S, U]
	bytes    int
	newest   *head[S, U]
	oldest   *head[S, U]
}

// share is which part of the bound one head may take.
const share = 8

// take returns the head of a thread and forgets it. It returns nil if there is none, or if its input was the named request: whether
// that is repeated is for storage to say.
func (c *heads[S, U]) take(thread, request string) *head[S, U] {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.byThread[thread]
	if h == nil || request != "" && h.request == request {
		return nil
	}
	c.remove(h)
	return h
}

// put keeps a head, unless it is too large, and forgets those that were used least recently.
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

// drop forgets the head of a thread that was moved otherwise than by input.
func (c *heads[S, U]) drop(thread string) {
	c.take(thread, "")
}

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
