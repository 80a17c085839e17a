package journal

import (
	"sync"
	"sync/atomic"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// ProgressName is the name of the Failure that has the note of Progress of a task.
const ProgressName = "progress"

// Heartbeats are the newest notes of Progress of the tasks of a run. The writes of the run store
// them. It is safe for concurrent use. The zero Heartbeats has none, and a nil one keeps none.
type Heartbeats struct {
	has atomic.Bool // a task has a note
	mu  sync.Mutex
	of  map[string]*heartbeat // by task
}

// heartbeat is the newest note of one task.
type heartbeat struct {
	write  checkpoint.Write // its Base is zero for a run that stores nothing
	stored bool
}

// Set replaces the note of a task. of is a write about the task without its kind, name and
// payload; it has no Base in a run that stores nothing.
func (h *Heartbeats) Set(key string, of checkpoint.Write, note string) {
	if h == nil {
		return
	}
	of.Kind, of.Name, of.Payload = checkpoint.Failure, ProgressName, []byte(note)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.has.Store(true)
	if h.of == nil {
		h.of = make(map[string]*heartbeat)
	}
	h.of[key] = &heartbeat{write: of, stored: of.Base.IsZero()}
}

// Get returns the note of a task. ok is false if there is none.
func (h *Heartbeats) Get(key string) (note string, ok bool) {
	w, ok := h.Write(key)
	return string(w.Payload), ok
}

// Write returns the write that stores the note of a task. ok is false if there is none.
func (h *Heartbeats) Write(key string) (w checkpoint.Write, ok bool) {
	if h == nil {
		return w, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.of[key]
	if b == nil {
		return w, false
	}
	return b.write, true
}

// None reports whether no task has a note.
func (h *Heartbeats) None() bool { return h == nil || !h.has.Load() }

// Drop removes the note of a task.
func (h *Heartbeats) Drop(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, key)
	h.has.Store(len(h.of) > 0)
}

// unstored returns the writes of the notes that are not stored. The caller calls stored when they
// are.
func (h *Heartbeats) unstored() (writes []checkpoint.Write, stored func()) {
	if h == nil {
		return nil, func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var now []*heartbeat
	for _, b := range h.of {
		if !b.stored {
			now, writes = append(now, b), append(writes, b.write)
		}
	}
	return writes, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, b := range now {
			b.stored = true
		}
	}
}
