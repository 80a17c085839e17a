package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// The limits of an Announcer.
const (
	announcements   = 1024            // hints that wait; further ones are lost
	announceTimeout = 2 * time.Second // of one call of the Engine, and of all that wait at Close
)

// Announcer is a saver that sends hints. Announce makes it.
type Announcer struct {
	checkpoint.Saver
	engine Engine
	failed func(error)

	mu      sync.Mutex
	graphs  map[string]string // the graphs of the threads that runs hold, by thread
	waiting []announcement
	known   map[announcement]bool // those in waiting
	sending chan struct{}         // closed when nothing waits any more; nil if nothing does
}

type announcement struct{ graph, thread string }

// Announce returns a saver that keeps its data in inner. It sends a hint to engine after each
// write that makes a thread due: a message, or the end of a run that leaves work. Each process
// that submits input or runs threads uses it for its graphs and its worker:
//
//	saver := worker.Announce(db, engine, nil)
//	app, err := b.Compile(graph.Saver(saver))
//	w := worker.New(saver, worker.Options{Engine: engine}, app)
//
// Writes do not wait for the engine. A queue holds at most 1024 hints, one for each thread, and
// further hints are lost. After an error of the engine, Announcer calls failed and drops the
// queue, and the next write tries again. failed may be nil. Close waits up to two seconds for the
// hints, and closes inner.
//
// Writes to inner itself, and messages in a transaction of the caller (graph.Graph.Via), send
// nothing. Call engine.Wake after the commit.
func Announce(inner checkpoint.Saver, engine Engine, failed func(error)) *Announcer {
	if failed == nil {
		failed = func(error) {}
	}
	return &Announcer{
		Saver: inner, engine: engine, failed: failed,
		graphs: make(map[string]string), known: make(map[announcement]bool),
	}
}

// Post implements checkpoint.Inbox.
func (a *Announcer) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	done, err := a.Saver.Post(ctx, posts...)
	if err != nil {
		return done, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range posts {
		if done[i].Err == nil {
			a.send(announcement{posts[i].Graph, posts[i].Thread})
		}
	}
	return done, nil
}

// Via implements checkpoint.PostChanger. It sends no hints.
func (a *Announcer) Via(p checkpoint.Poster) checkpoint.Poster { return checkpoint.PostVia(a.Saver, p) }

// Append implements checkpoint.Saver.
func (a *Announcer) Append(ctx context.Context, w checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := a.Saver.Append(ctx, w)
	if w.Open != nil && err == nil {
		a.mu.Lock()
		a.graphs[w.Thread] = w.Records[0].Graph
		a.mu.Unlock()
	}
	a.wrote(w.Thread, w.End, !w.Wake.IsZero() || done.Posted > w.Messages.Seen, err)
	return done, err
}

// PutWrites implements checkpoint.Saver.
func (a *Announcer) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	done, err := a.Saver.PutWrites(ctx, w)
	a.wrote(w.Thread, w.End, !w.Wake.IsZero() || done.Posted > w.Messages.Seen, err)
	return done, err
}

// Close implements checkpoint.Saver.
func (a *Announcer) Close() error {
	a.mu.Lock()
	sending := a.sending
	a.mu.Unlock()
	if sending != nil {
		timer := time.NewTimer(announceTimeout)
		defer timer.Stop()
		select {
		case <-sending:
		case <-timer.C:
		}
	}
	return a.Saver.Close()
}

// wrote notes a write of a run. due reports whether the thread is due if the write ends the run.
func (a *Announcer) wrote(thread string, end, due bool, err error) {
	if !end && !errors.Is(err, checkpoint.ErrConflict) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	graph := a.graphs[thread]
	delete(a.graphs, thread)
	if due && err == nil {
		a.send(announcement{graph, thread})
	}
}

// send sends a hint later, unless it waits already. The caller holds a.mu.
func (a *Announcer) send(n announcement) {
	if n.graph == "" || a.known[n] || len(a.waiting) >= announcements {
		return
	}
	a.known[n] = true
	a.waiting = append(a.waiting, n)
	if a.sending == nil {
		a.sending = make(chan struct{})
		go a.work(a.sending)
	}
}

// work sends hints until none waits.
func (a *Announcer) work(done chan struct{}) {
	defer close(done)
	for {
		a.mu.Lock()
		if len(a.waiting) == 0 {
			a.waiting, a.sending = nil, nil
			a.mu.Unlock()
			return
		}
		n := a.waiting[0]
		a.waiting = a.waiting[1:]
		delete(a.known, n)
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		err := a.engine.Wake(ctx, n.graph, n.thread)
		cancel()
		if err == nil {
			continue
		}
		a.failed(err)
		a.mu.Lock()
		a.waiting = nil
		clear(a.known)
		a.mu.Unlock()
	}
}
