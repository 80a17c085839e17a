package graphhttp

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// message is a Message on its way.
type message struct {
	Message
	id     checkpoint.ID // of a checkpoint, else zero
	asks   string        // the id of a question, else empty
	run    uint64        // that told it; 0 for one read from the store
	end    bool          // the last of its run
	broken bool          // could not be encoded
}

// empty reports whether a client would get nothing by it.
func (m *message) empty() bool {
	return m.Name == "" && m.Data == nil && m.id.IsZero() && !m.end && !m.broken
}

// size is what the message takes in a queue, in bytes.
func (m *message) size() int { return len(m.Name) + len(m.Data) + 96 }

// follower is a client's queue. The Hub's lock guards it.
type follower struct {
	queue   []message
	size    int // of it, in bytes
	limit   int
	lagging bool          // the queue was full, and what was in it is gone
	dropped checkpoint.ID // the first that was in it
	run     uint64        // the only run followed; 0 for all
	wake    chan struct{} // holds a value when there is something to take
}

func (f *follower) push(m message) {
	if f.run != 0 && f.run != m.run {
		return
	}
	f.queue = append(f.queue, m)
	f.size += m.size()
	if f.lagging || f.size > f.limit && len(f.queue) > 1 {
		f.behind() // what it missed is to be read from the store, and so is this
	}
	f.rouse()
}

// behind drops what is queued: the follower has to read from the store.
func (f *follower) behind() {
	for i := range f.queue {
		if f.dropped.IsZero() {
			f.dropped = f.queue[i].id
		}
	}
	f.queue, f.size, f.lagging = nil, 0, true
	f.rouse()
}

func (f *follower) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take returns what is queued for f, whether f fell behind since the last time, and the first checkpoint that was dropped
// then.
func (h *Hub[S, U]) take(f *follower) (queue []message, behind bool, from checkpoint.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	queue, behind, from = f.queue, f.lagging, f.dropped
	f.queue, f.size, f.lagging, f.dropped = nil, 0, false, checkpoint.ID{}
	return queue, behind, from
}
