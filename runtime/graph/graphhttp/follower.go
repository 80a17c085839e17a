package graphhttp

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// message is a Message in a queue.
type message struct {
	Message
	id     checkpoint.ID // the id of a checkpoint, else zero
	asks   string        // the id of a question, else empty
	run    uint64        // the run that published it; 0 for a message read from the store
	seq    uint64        // its number in the Hub; 0 for a message read from the store
	custom bool          // a custom event, which has the id at
	at     string        // the id of a custom event for its client
	end    bool          // the last message of its run
	broken bool          // the event could not be encoded
}

// empty reports whether m sends nothing to a client.
func (m *message) empty() bool {
	return m.Name == "" && m.Data == nil && m.id.IsZero() && !m.end && !m.broken
}

// size returns the memory of the message in a queue, in bytes.
func (m *message) size() int { return len(m.Name) + len(m.Data) + 96 }

// follower is the queue of one client. The lock of the Hub guards it.
type follower struct {
	queue   []message
	size    int // of the queue, in bytes
	limit   int
	lagging bool          // the queue was full and has been dropped
	dropped checkpoint.ID // the first checkpoint in the dropped queue
	run     uint64        // the only run that is followed; 0 for all
	wake    chan struct{} // holds a value when the queue has messages
}

func (f *follower) push(m message) {
	if f.run != 0 && f.run != m.run {
		return
	}
	f.queue = append(f.queue, m)
	f.size += m.size()
	if f.lagging || f.size > f.limit && len(f.queue) > 1 {
		f.behind() // the client reads this message and the missed ones from the store
	}
	f.rouse()
}

// behind drops the queue. The follower must read from the store.
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

// take returns the queue of f. It also reports whether f fell behind since the last call, and the
// first checkpoint that was dropped.
func (h *Hub[S, U]) take(f *follower) (queue []message, behind bool, from checkpoint.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	queue, behind, from = f.queue, f.lagging, f.dropped
	f.queue, f.size, f.lagging, f.dropped = nil, 0, false, checkpoint.ID{}
	return queue, behind, from
}
