package journal

import (
	"sync"
	"time"
)

// lateness tells a worker whether a run is unable to renew its lease. The zero lateness is that of
// a run on time.
type lateness struct {
	mu   sync.Mutex
	late bool
}

// set notes whether the run is late, and calls tell if that has changed.
func (l *lateness) set(late bool, tell func(bool)) {
	if tell == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late != late {
		l.late = late
		tell(late)
	}
}

// watch makes the run late after the given time, unless the returned function was called before.
// That function notes whether the renewal failed.
func (l *lateness) watch(after time.Duration, tell func(bool)) (over func(failed bool)) {
	if tell == nil {
		return func(bool) {}
	}
	renewed := false
	slow := time.AfterFunc(after, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !renewed && !l.late {
			l.late = true
			tell(true)
		}
	})
	return func(failed bool) {
		slow.Stop()
		l.mu.Lock()
		renewed = true
		l.mu.Unlock()
		l.set(failed, tell)
	}
}

// leaseTimer renews a lease while no write of the run does. The zero leaseTimer does nothing.
type leaseTimer struct {
	mu      sync.Mutex
	timer   *time.Timer
	wrote   time.Time
	stopped bool
	calls   sync.WaitGroup
}

// start calls renew whenever nothing has been written for the given time. It also calls tick now,
// and each time after the pause that tick returned.
func (t *leaseTimer) start(every time.Duration, renew func(), tick func() time.Duration) {
	first := min(every, tick())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = time.Now()
	t.timer = time.AfterFunc(first, func() {
		if renews, ok := t.fire(every); ok {
			next := tick()
			if renews {
				renew()
			}
			t.rest(every, next)
		}
	})
}

// fire begins one round of the timer, and reports whether the lease must be renewed, because
// nothing was written for so long. ok is false if the timer has stopped.
func (t *leaseTimer) fire(every time.Duration) (renews, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false, false
	}
	t.calls.Add(1)
	now := time.Now()
	if renews = now.Sub(t.wrote) >= every; renews {
		t.wrote = now
	}
	return renews, true
}

// shortest is the shortest pause of a leaseTimer. It is not zero, because the race detector
// crashes if two goroutines of a synctest bubble set timers that fire immediately (Go 1.26).
const shortest = time.Millisecond

// rest ends the calls of the timer. The timer fires again when the lease must be renewed, and at
// the latest after next.
func (t *leaseTimer) rest(every, next time.Duration) {
	t.calls.Done()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.timer.Reset(max(min(next, every-time.Since(t.wrote)), shortest))
	}
}

// written notes that a write, which began at the given time, has renewed the lease.
func (t *leaseTimer) written(began time.Time) {
	t.mu.Lock()
	t.wrote = began
	t.mu.Unlock()
}

// stop ends the renewals and waits for one that is in progress: renewed after the run's last
// write, the lease would outlive the run.
func (t *leaseTimer) stop() {
	t.mu.Lock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.calls.Wait()
}
