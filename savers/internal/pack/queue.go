package pack

import (
	"context"
	"sync"
	"time"
)

// Queue runs jobs in a goroutine, one at a time, so that the callers of Add need not wait for
// them. Its methods are safe for concurrent use.
type Queue[J any] struct {
	run     func(context.Context, J) error
	mu      sync.Mutex
	jobs    []J
	running bool
	closed  bool
	idle    sync.Cond
	cancel  context.CancelFunc // of the current job
}

// maxJobs is the limit of waiting jobs. patience is the time for one job.
const (
	maxJobs  = 1024
	patience = 30 * time.Second
)

// NewQueue returns a queue that calls run for each job. It ignores the errors of run: the records
// stay as they are, and a later run packs them.
func NewQueue[J any](run func(context.Context, J) error) *Queue[J] {
	q := &Queue[J]{run: run}
	q.idle.L = &q.mu
	return q
}

// Add adds jobs, unless the queue is closed or full.
func (q *Queue[J]) Add(jobs ...J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.jobs)+len(jobs) > maxJobs {
		return
	}
	q.jobs = append(q.jobs, jobs...)
	if !q.running && len(q.jobs) > 0 {
		q.running = true
		go q.work()
	}
}

// work does the jobs of the queue one after another, until there are none.
func (q *Queue[J]) work() {
	for {
		q.mu.Lock()
		if len(q.jobs) == 0 {
			q.running = false
			q.idle.Broadcast()
			q.mu.Unlock()
			return
		}
		j := q.jobs[0]
		q.jobs = q.jobs[1:]
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		q.cancel = cancel
		q.mu.Unlock()
		_ = q.run(ctx, j)
		cancel()
	}
}

// Close waits until all jobs have run, and refuses new ones. After the time d it cancels the
// current job and drops the others.
func (q *Queue[J]) Close(d time.Duration) {
	defer time.AfterFunc(d, q.stop).Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for q.running {
		q.idle.Wait()
	}
}

// stop drops the jobs that wait, and cancels the one in progress.
func (q *Queue[J]) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = nil
	if q.cancel != nil {
		q.cancel()
	}
}
