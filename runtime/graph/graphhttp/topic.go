package graphhttp

import (
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// topic is a thread with a run in this process or with followers.
type topic struct {
	runs      int // in progress, or about to start
	followers []*follower
	unwatch   func() // stops polling; nil without followers
	retained  retained
}

// begin registers a run before it opens the thread.
func (h *Hub[S, U]) begin(thread string, f *follower) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastRun++
	if f != nil {
		f.run = h.lastRun
	}
	h.topic(thread).runs++
	return h.lastRun
}

// publish sends an event of a run to the followers of its thread.
func (h *Hub[S, U]) publish(thread string, run uint64, e graph.Event[S, U]) {
	var m message
	keep := h.retains() && e.Kind == graph.EventCustom
	if keep || h.followed(thread) { // later followers read from the store
		m = h.message(thread, e, nil)
	}
	m.run, m.custom = run, keep
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastSeq++
	m.seq = h.lastSeq
	empty := m.empty()
	if t := h.topic(thread); h.retains() && !(keep && empty) {
		t.retained.see(&e.RunEvent, &m, h.opt.custom)
	}
	if !empty {
		h.push(thread, m)
	}
}

// kept returns the custom events of tasks in progress that a client lacks. after is the number of
// the last message that it got. Newer ones than the first message in its queue are in the queue.
func (h *Hub[S, U]) kept(thread string, f *follower, after uint64) []message {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.lastSeq + 1
	if len(f.queue) > 0 {
		before = f.queue[0].seq
	}
	return h.topic(thread).retained.since(f.run, after, before)
}

// end unregisters a run and publishes m in one step, so that no follower waits for the end of a
// finished run.
func (h *Hub[S, U]) end(thread string, m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastSeq++
	m.seq = h.lastSeq
	h.push(thread, m)
	h.finish(h.topic(thread))
	h.forget(thread)
}

// abandon unregisters a run that did not open its thread. Followers that joined meanwhile must
// read from the store.
func (h *Hub[S, U]) abandon(thread string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(thread)
	h.finish(t)
	if t.runs == 0 {
		for _, f := range t.followers {
			f.behind()
		}
	}
	h.forget(thread)
}

// finish counts the end of a run. The caller must hold the lock.
func (h *Hub[S, U]) finish(t *topic) {
	if t.runs--; t.runs == 0 {
		t.retained = retained{}
	}
}

// running reports whether a run of the thread is in progress in this process.
func (h *Hub[S, U]) running(thread string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[thread]
	return t != nil && t.runs > 0
}

func (h *Hub[S, U]) followed(thread string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[thread]
	return t != nil && len(t.followers) > 0
}

// join adds a follower of the thread.
func (h *Hub[S, U]) join(thread string) *follower {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &follower{wake: make(chan struct{}, 1), limit: h.opt.buffer}
	t := h.topic(thread)
	t.followers = append(t.followers, f)
	if t.unwatch == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t.unwatch = cancel
		go h.watch(ctx, thread)
	}
	return f
}

// leave removes a follower of the thread.
func (h *Hub[S, U]) leave(thread string, f *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(thread)
	t.followers = slices.DeleteFunc(t.followers, func(g *follower) bool { return g == f })
	if len(t.followers) == 0 {
		t.unwatch()
		t.unwatch = nil
	}
	h.forget(thread)
}

// push queues m for every follower of the thread. The caller must hold the lock, as for the
// methods below.
func (h *Hub[S, U]) push(thread string, m message) {
	for _, f := range h.topic(thread).followers {
		f.push(m)
	}
}

func (h *Hub[S, U]) topic(thread string) *topic {
	t := h.topics[thread]
	if t == nil {
		t = &topic{}
		h.topics[thread] = t
	}
	return t
}

// forget drops a topic that has neither runs nor followers.
func (h *Hub[S, U]) forget(thread string) {
	if t := h.topic(thread); t.runs == 0 && len(t.followers) == 0 {
		delete(h.topics, thread)
	}
}
