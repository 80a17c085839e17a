// Package memory implements a saver in the memory of the process. It is for tests, examples and
// programs whose threads may end with the process. It has versions, leases, history and export,
// like every other saver.
//
// A saver copies its arguments once, when it stores them. Leases use the clock of package time, so
// tests inside testing/synctest need not wait until one expires.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Saver keeps threads in memory. The zero Saver is empty and ready to use. All methods are safe
// for concurrent use. A Saver must not be copied.
type Saver struct {
	calls   sync.RWMutex // held for reading by every call; Close takes it whole
	closed  bool
	mu      sync.Mutex // for threads, never held while a thread is waited for
	threads map[string]*thread

	watchers watchers
	wakes    wakes
}

var _ checkpoint.Saver = (*Saver)(nil)

// thread is one thread with its versions, oldest first. Only the last may be open.
type thread struct {
	mu       sync.Mutex
	gone     bool // deleted; look it up again
	versions []*ledger.Version
	next     *ledger.Version // holds the inbox while no version is open; nil for a new thread
	last     int             // the number of the newest version there ever was
	about    ledger.About
	renewed  time.Time // when the newest run took its lease or renewed it
	lease    time.Duration
	waking   waking
	slab     slab
	made     []*ledger.Entry // by entries, for the current call
}

// New returns an empty saver.
func New() *Saver { return new(Saver) }

// begin starts a call; refused is the fault of its arguments, or nil. Every call that it starts
// must call end.
func (s *Saver) begin(ctx context.Context, refused error) error {
	if refused != nil {
		return refused
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	s.calls.RLock()
	if s.closed {
		s.calls.RUnlock()
		return fmt.Errorf("memory: %w", checkpoint.ErrClosed)
	}
	return nil
}

// end ends a call that begin has counted.
func (s *Saver) end() { s.calls.RUnlock() }

// Close drops all threads. It returns nil.
func (s *Saver) Close() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.closed, s.threads = true, nil
	return nil
}

// lock returns a thread, locked, or nil when there is none. With create there always is one.
func (s *Saver) lock(id string, create bool) *thread {
	for {
		s.mu.Lock()
		t := s.threads[id]
		if t == nil && create {
			if s.threads == nil {
				s.threads = make(map[string]*thread)
			}
			t = new(thread)
			s.threads[id] = t
		}
		s.mu.Unlock()
		if t == nil {
			return nil
		}
		t.mu.Lock()
		if !t.gone {
			return t
		}
		t.mu.Unlock()
	}
}

// view calls f with a version and its thread, which is locked. It returns ledger.Absent if there
// is no such version.
func (s *Saver) view(ctx context.Context, p checkpoint.Ref, f func(t *thread, v *ledger.Version) error) error {
	if err := s.begin(ctx, p.Check()); err != nil {
		return err
	}
	defer s.end()
	t := s.lock(p.Thread, false)
	if t == nil {
		return ledger.Absent(p)
	}
	defer t.mu.Unlock()
	v := t.version(p.Version)
	if v == nil {
		return ledger.Absent(p)
	}
	v.About = t.about
	return f(t, v)
}

// open returns the open version, or nil.
func (t *thread) open() *ledger.Version {
	if n := len(t.versions); n > 0 && t.versions[n-1].Released.IsZero() {
		return t.versions[n-1]
	}
	return nil
}

// current returns the open version, or the one that begins next. It is nil for a new thread.
func (t *thread) current() *ledger.Version {
	v := t.open()
	if v == nil {
		v = t.next
	}
	if v != nil {
		v.About = t.about
	}
	return v
}

// version returns a version by its number, 0 for the open one, or nil.
func (t *thread) version(number int) *ledger.Version {
	if number == 0 {
		return t.open()
	}
	for _, v := range t.versions {
		if v.Number == number {
			return v
		}
	}
	return nil
}

// upcoming returns the version that begins next.
func (t *thread) upcoming(id string) *ledger.Version {
	if t.next != nil {
		return t.next
	}
	return ledger.New(id, t.last+1)
}

// start makes v, which is upcoming, the open version.
func (t *thread) start(v *ledger.Version) {
	t.last++
	t.next = nil
	t.versions = append(t.versions, v)
}

// apply makes e part of v.
func (t *thread) apply(v *ledger.Version, e *ledger.Event) {
	v.Apply(e)
	if e.Releases {
		t.next = v.Next()
	}
}

// leased reports whether a run holds the lease.
func (t *thread) leased(now time.Time) bool {
	v := t.open()
	return v != nil && !v.Ended && now.Sub(t.renewed) < t.lease
}

// busy returns a *BusyError if a run holds the lease.
func (t *thread) busy(now time.Time) error {
	if !t.leased(now) {
		return nil
	}
	v := t.open()
	return &checkpoint.BusyError{Thread: v.Thread, Holder: v.Holder, Until: t.renewed.Add(t.lease)}
}

// renew extends the lease from now.
func (t *thread) renew(now time.Time, lease time.Duration) {
	t.renewed, t.lease = now, ledger.LeaseOf(lease)
}

// describe returns a version as a Thread.
func (t *thread) describe(v *ledger.Version, now time.Time) (d checkpoint.Thread) {
	defer func() { d.Now = ledger.Micro(now) }()
	if v == t.next {
		return v.Inbox(t.newest(), len(t.versions))
	}
	leased := v == t.open() && t.leased(now)
	until := time.Time{}
	if leased {
		until = t.renewed.Add(t.lease)
	}
	v.About = t.about
	return v.Describe(leased, until, len(t.versions))
}
