package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// listen begins to listen to the saver and the Engine, until ctx ends and stop is called.
func (w *Worker) listen(ctx context.Context) (stop func(), err error) {
	var names []string
	for name := range w.apps {
		names = append(names, name)
	}
	stop = func() {}
	if saver, ok := w.saver.(checkpoint.Notifier); ok {
		w.notifies = true
		if stop, err = saver.Notify(ctx, w.announced); err != nil {
			return nil, err
		}
	}
	if w.opt.Engine != nil {
		w.peers = newPeers(names)
		_, w.announces = w.saver.(*Announcer)
		go w.listenTo(ctx, w.opt.Engine, append(names, peersGraph))
		var greets sync.WaitGroup
		greets.Go(func() { w.greetPeers(ctx) })
		w.leave = greets.Wait
	}
	return stop, nil
}

// announced notes that the saver has stored a Wake. The loop polls then.
func (w *Worker) announced(n checkpoint.Notice) {
	if n.Graph == pauseGraph {
		w.mu.Lock()
		w.pauses.dirty = true
		w.mu.Unlock()
		w.again()
		return
	}
	w.mu.Lock()
	earlier := w.apps[n.Graph] != nil && !n.Wake.IsZero() && (w.wake.IsZero() || n.Wake.Before(w.wake))
	if earlier {
		w.wake = n.Wake
		w.now = w.now || !n.Wake.After(time.Now())
	}
	w.mu.Unlock()
	if earlier {
		w.wakeLoop()
	}
}

// hinted receives a hint of the Engine. A hint of a thread that the worker runs is about its
// messages. Of the workers that do not run the thread, the first one polls. After polls for hints
// that found nothing, the next such poll waits a little.
func (w *Worker) hinted(graph, thread string) {
	w.mu.Lock()
	if h := w.held[thread]; h != nil {
		h.hinted = true
	}
	w.mu.Unlock()
	if w.news.Hint(thread) {
		return
	}
	w.mu.Lock()
	if !w.polls(graph, thread) {
		w.mu.Unlock()
		return
	}
	w.hints = true
	switch {
	case !w.calm.After(time.Now()):
		w.now = true
	case w.wake.IsZero() || w.calm.Before(w.wake):
		w.wake = w.calm
	}
	w.mu.Unlock()
	w.wakeLoop()
}

// polls reports whether the worker polls for a hint: one without a thread, and one of a thread for
// which the worker is first. If it is first and has no room, it yields. The caller must hold w.mu.
func (w *Worker) polls(graph, thread string) bool {
	room := true
	switch {
	case graph == peersGraph:
		lost := w.peers.hear(thread)
		if len(lost) == 0 {
			return false
		}
		for name, t := range w.apps {
			room = room && (w.takes(t) || !slices.Contains(lost, hash(name)))
		}
	case graph == "":
		w.peers.listens = true
		w.peers.greet(0)
	case thread == "":
	case !w.peers.first(hash(graph), hash(thread)):
		return false
	case w.left.has(thread, time.Now()):
		w.peers.pass(graph) // another version can run the thread
		return false
	default:
		room = w.takes(w.apps[graph])
	}
	if !room {
		w.peers.yield()
	}
	return true
}

// takes reports whether the worker can run another thread of an App. The caller must hold w.mu.
func (w *Worker) takes(t *turn) bool {
	return t != nil && !t.draining && !w.rests() && !w.health.fails() && (t.max == 0 || t.running < t.max) && (t.tasks || w.free() > 0)
}

// listenTo listens to an Engine until ctx ends.
func (w *Worker) listenTo(ctx context.Context, e Engine, names []string) {
	pause := 100 * time.Millisecond
	for {
		began := time.Now()
		err := e.Listen(ctx, names, w.hinted)
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		w.peers.listens = false
		w.peers.greet(0)
		w.mu.Unlock()
		w.emit(Event{Kind: EventEngineFailed, Err: err})
		w.again() // hints may be lost
		if time.Since(began) > time.Minute {
			pause = 100 * time.Millisecond
		}
		timer := time.NewTimer(jittered(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, 15*time.Second)
	}
}
