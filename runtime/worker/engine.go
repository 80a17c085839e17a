package worker

import (
	"context"
	"sync"
)

// Engine carries hints that a thread may be due, so that a worker looks before its next poll. A
// hint can be lost, repeated or late, because workers also poll the saver. If an Engine loses
// hints, threads only start later. Package enginetest tests any Engine.
//
// Workers also send hints to each other, of a graph with a reserved name. The thread of such a
// hint has at most 408 bytes, which need not be UTF-8.
//
// An Engine is safe for concurrent use.
type Engine interface {
	// Wake sends a hint to the listeners of a graph in all processes. Call it after the write that
	// made the thread due; [Announce] does. After an error, the hint is lost, and nobody needs to
	// send it again.
	Wake(ctx context.Context, graph, thread string) error
	// Listen calls hint for the hints of the named graphs, until ctx ends. It calls hint with two
	// empty names as soon as hints can arrive, also after each interruption, because earlier hints
	// may be lost. The thread is also empty if its id is too long for the Engine.
	//
	// hint may be called concurrently, but not after Listen has returned. It returns immediately,
	// and does not call the Engine. Listen returns an error if it cannot listen any longer. The
	// worker then calls it again after a pause.
	Listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error
}

// Hub is the Engine for one process. The zero Hub is ready for use. It must not be copied.
type Hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

type listener struct {
	graphs map[string]bool
	hint   func(graph, thread string)
}

// Wake implements Engine. It never fails.
func (h *Hub) Wake(_ context.Context, graph, thread string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.graphs[graph] {
			l.hint(graph, thread)
		}
	}
	return nil
}

// Listen implements Engine. It returns the error of ctx.
func (h *Hub) Listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error {
	l := &listener{graphs: make(map[string]bool), hint: hint}
	for _, name := range graphs {
		l.graphs[name] = true
	}
	h.mu.Lock()
	if h.listeners == nil {
		h.listeners = make(map[*listener]struct{})
	}
	h.listeners[l] = struct{}{}
	hint("", "")
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
	return ctx.Err()
}
