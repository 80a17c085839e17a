package enginetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/worker"
)

// hint is a hint that was heard.
type hint struct{ graph, thread string }

// listener is a call of Listen, which is repeated after an error as a worker does.
type listener struct {
	tb     testing.TB
	place  Place
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	heard   []hint
	changed chan struct{} // closed and replaced after a hint
	over    bool          // Listen has returned
	late    int           // hints after Listen has returned
	errs    []error
}

// listen starts a listener, and waits until hints can arrive. The listener ends with the test.
func listen(tb testing.TB, place Place, e worker.Engine, graphs ...string) *listener {
	tb.Helper()
	l := start(tb, place, e, graphs...)
	l.await("an empty hint, because it listens", hint{})
	return l
}

// start starts a listener.
func start(tb testing.TB, place Place, e worker.Engine, graphs ...string) *listener {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{tb: tb, place: place, cancel: cancel, ended: make(chan struct{}), changed: make(chan struct{})}
	go func() {
		defer close(l.ended)
		for ctx.Err() == nil {
			err := e.Listen(ctx, graphs, l.hear)
			l.mu.Lock()
			l.over = ctx.Err() != nil
			l.errs = append(l.errs, err)
			l.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	tb.Cleanup(l.end)
	return l
}

// end ends the listener. An engine that does not return fails the test.
func (l *listener) end() {
	l.tb.Helper()
	l.cancel()
	select {
	case <-l.ended:
	case <-time.After(l.place.patience()):
		l.tb.Errorf("Listen has not returned %s after the end of its context", l.place.patience())
	}
}

func (l *listener) hear(graph, thread string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		l.late++
	}
	l.heard = append(l.heard, hint{graph, thread})
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits until one of the hints has come.
func (l *listener) await(what string, wanted ...hint) {
	l.tb.Helper()
	l.awaitSince(0, what, wanted...)
}

// awaitSince is await for hints after the first n.
func (l *listener) awaitSince(n int, what string, wanted ...hint) {
	l.tb.Helper()
	deadline := time.NewTimer(l.place.patience())
	defer deadline.Stop()
	for {
		l.mu.Lock()
		heard, changed, errs := l.heard[n:], l.changed, l.errs
		found := slices.ContainsFunc(heard, func(h hint) bool { return slices.Contains(wanted, h) })
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			l.tb.Fatalf("no hint after %s: want %s, got %d others; Listen returned the errors %v", l.place.patience(), what, len(heard), errs)
		}
	}
}

// count returns how many hints were heard.
func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.heard)
}

// graphs returns the graphs of the hints that were heard, without the empty one.
func (l *listener) graphs() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.heard {
		if h.graph != "" && !slices.Contains(names, h.graph) {
			names = append(names, h.graph)
		}
	}
	return names
}

// wake sends a hint, which must succeed.
func wake(tb testing.TB, place Place, e worker.Engine, graph, thread string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), place.patience())
	defer cancel()
	if err := e.Wake(ctx, graph, thread); err != nil {
		tb.Fatalf("Wake of thread %.50q of graph %.50q: %v", thread, graph, err)
	}
}

// wakeUntil sends a hint until a listener has heard it. It is for engines that may lose hints
// because a server has restarted.
func wakeUntil(tb testing.TB, place Place, e worker.Engine, l *listener, h hint) {
	tb.Helper()
	var last error
	for deadline := time.Now().Add(place.patience()); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		last = e.Wake(ctx, h.graph, h.thread)
		cancel()
		l.mu.Lock()
		found, changed := slices.Contains(l.heard, h), l.changed
		l.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("no hint after %s; the last Wake returned %v, and Listen %v", place.patience(), last, l.errs)
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond):
		}
	}
}
