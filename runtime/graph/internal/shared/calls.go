// Package shared makes one call for many callers that ask about the same thread at the same time.
package shared

import (
	"sync"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
)

// Calls makes calls of the saver that are about one thread each. Callers for a thread that
// come while such a call is in progress share the next one. A worker of a queue runs many tasks of
// one thread at the same time. So these do not make their calls one after another. The zero value
// is ready, and safe for concurrent use.
type Calls[A, R any] struct {
	mu      sync.Mutex
	threads map[string]*turn[A, R]
}

// turn has the calls for one thread: one in progress, and one that waits for its end.
type turn[A, R any] struct {
	free  chan struct{} // has an element while no call is in progress
	next  *joint[A, R]
	users int
}

// joint is one call for all its members.
type joint[A, R any] struct {
	of      A
	members int
	done    chan struct{} // closed when got and err are set
	got     R
	err     error
}

// Do makes the caller a member of the next call for a thread: add adds to the argument of that
// call. If a call with several members fails, each of them makes a call of its own.
func (s *Calls[A, R]) Do(thread string, add func(*A), call func(A) (R, error)) (R, error) {
	s.mu.Lock()
	t := s.threads[thread]
	if t == nil {
		if s.threads == nil {
			s.threads = make(map[string]*turn[A, R])
		}
		t = &turn[A, R]{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		s.threads[thread] = t
	}
	c := t.next
	if t.users++; c == nil {
		c = &joint[A, R]{done: make(chan struct{})}
		t.next = c
	}
	add(&c.of)
	c.members++
	first := c.members == 1
	s.mu.Unlock()
	s.await(thread, t, c, first, call)
	if c.err != nil && c.members > 1 {
		var alone A
		add(&alone)
		return call(alone)
	}
	return c.got, c.err
}

// await makes the shared call c, or waits for its end. Then the caller no longer uses t, also if
// the call panics.
func (s *Calls[A, R]) await(thread string, t *turn[A, R], c *joint[A, R], first bool, call func(A) (R, error)) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(s.threads, thread)
		}
	}()
	if first {
		s.make(t, c, call)
	}
	<-c.done
}

// make waits until the call in progress has ended, and makes the shared call c.
func (s *Calls[A, R]) make(t *turn[A, R], c *joint[A, R], call func(A) (R, error)) {
	<-t.free
	s.mu.Lock()
	t.next = nil
	s.mu.Unlock()
	c.err = exec.ErrGoexit // unless the call returns
	defer func() {
		t.free <- struct{}{}
		close(c.done)
	}()
	c.got, c.err = call(c.of)
}
