package journal

import (
	"context"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Async is the Log that queues entries and stores them in order, one behind the other, while the run
// continues. NewAsync returns one.
type Async struct {
	*Sync
	mu     sync.Mutex
	queue  *queue
	broken error // of the queue: nothing queued after it is stored
}

// NewAsync returns a Log that has not been opened.
func NewAsync(c Config) *Async { return &Async{Sync: NewSync(c)} }

// Write implements Log. An entry that is queued is not stored if one before it fails.
func (a *Async) Write(ctx context.Context, e Entry) error {
	if !e.End {
		return a.later(func() error { return a.store(ctx, e) })
	}
	_ = a.Close() // the error stays in broken, so that a second try fails too
	if err := a.Broken(); err != nil {
		a.LetGo(ctx)
		return err
	}
	return a.Sync.Write(ctx, e)
}

// later queues a call, and returns the error of an earlier one.
func (a *Async) later(call func() error) error {
	a.mu.Lock()
	if a.queue == nil {
		a.queue = newQueue()
	}
	q := a.queue
	a.mu.Unlock()
	return a.breaks(q.add(call))
}

// breaks notes an error of the queue, and returns it.
func (a *Async) breaks(err error) error {
	if err != nil {
		a.mu.Lock()
		a.broken = err
		a.mu.Unlock()
	}
	return err
}

// Load implements Log. It waits until everything queued is stored.
func (a *Async) Load(ctx context.Context, p checkpoint.Place) (checkpoint.Chain, error) {
	a.mu.Lock()
	q := a.queue
	a.mu.Unlock()
	if q != nil {
		if err := q.wait(); err != nil {
			return checkpoint.Chain{}, err
		}
	}
	return a.Sync.Load(ctx, p)
}

// Keeps implements Log.
func (a *Async) Keeps() bool { return true }

// Broken implements Log.
func (a *Async) Broken() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken
}

// Close implements Log. It waits for queued entries.
func (a *Async) Close() error {
	err := a.Sync.Close()
	a.mu.Lock()
	q := a.queue
	a.queue = nil
	a.mu.Unlock()
	if q == nil {
		return err
	}
	return a.breaks(q.close())
}

// most is how many entries of an Async run wait at most. A run that is further ahead waits for them.
const most = 16

// queue makes calls one after another on a goroutine of its own. After one fails the rest are dropped,
// because they build on it.
type queue struct {
	calls  chan queued
	done   chan struct{}
	mu     sync.Mutex
	failed error
}

// queued is a call, or a mark: done is closed when its turn has come.
type queued struct {
	call func() error
	done chan struct{}
}

func newQueue() *queue {
	q := &queue{calls: make(chan queued, most), done: make(chan struct{})}
	go q.run()
	return q
}

func (q *queue) run() {
	defer close(q.done)
	for next := range q.calls {
		if next.done != nil {
			close(next.done)
			continue
		}
		if q.err() != nil {
			continue
		}
		if err := next.call(); err != nil {
			q.mu.Lock()
			q.failed = err
			q.mu.Unlock()
		}
	}
}

func (q *queue) err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

// add queues a call, and returns the error of an earlier one.
func (q *queue) add(call func() error) error {
	if err := q.err(); err != nil {
		return err
	}
	q.calls <- queued{call: call}
	return nil
}

// wait waits for what is queued so far and returns the first error.
func (q *queue) wait() error {
	done := make(chan struct{})
	q.calls <- queued{done: done}
	<-done
	return q.err()
}

// close waits for what is queued and returns the first error. The queue must not be used after.
func (q *queue) close() error {
	close(q.calls)
	<-q.done
	return q.err()
}
