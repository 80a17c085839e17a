package journal

import (
	"sync"
	"time"
)

// leaseTimer renews a lease while no write of the run does. The zero leaseTimer does nothing.
type leaseTimer struct {
	mu      sync.Mutex
	timer   *time.Timer
	wrote   time.Time
	stopped bool
	calls   sync.WaitGroup
}

// start calls renew whenever nothing has been written for the given time.
func (t *leaseTimer) start(every time.Duration, renew func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = time.Now()
	t.timer = time.AfterFunc(every, func() {
		t.mu.Lock()
		quiet := time.Since(t.wrote)
		if t.stopped {
			t.mu.Unlock()
			return
		}
		t.calls.Add(1)
		t.mu.Unlock()
		if quiet >= every {
			renew()
		}
		t.calls.Done()
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.stopped {
			t.timer.Reset(every)
		}
	})
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
