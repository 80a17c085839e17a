package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// journal writes one run's records and keeps its lease. It knows where the log stands; what a record says is
// the run's matter. The run's goroutine calls all its methods; the lease timer has a goroutine of its own.
type journal struct {
	saver      checkpoint.Saver
	thread     string
	lease      time.Duration
	timeout    time.Duration
	durability Durability
	release    bool        // with the write that finishes the run
	lost       func(error) // stops the run's nodes when the lease is lost

	fence checkpoint.ID
	head  checkpoint.ID // the newest record
	ended bool          // the lease is given up
	queue *queue        // of an Async run
	timer leaseTimer
}

// outcome is what a write says of the run beside its records.
type outcome struct {
	status checkpoint.Status // zero leaves it
	end    bool              // the run ends with this write
}

// saving returns the context of one saver call: the caller's values, but not its cancellation.
func (j *journal) saving(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), j.timeout)
}

// open makes the run's first Append, which takes the fence, and returns the pending writes that stand.
func (j *journal) open(ctx context.Context, o *checkpoint.Opening, records []checkpoint.Record, writes []checkpoint.Write, out outcome) ([]checkpoint.Write, error) {
	call, cancel := j.saving(ctx)
	defer cancel()
	done, err := j.saver.Append(call, checkpoint.Append{
		Thread: j.thread, After: j.head, Records: records, Writes: writes, Open: o,
		Status: out.status, Lease: j.lease, End: out.end, Release: j.releases(out),
	})
	if err != nil {
		return nil, err
	}
	j.fence, j.head, j.ended = records[0].ID, records[len(records)-1].ID, out.end
	if !j.ended {
		j.timer.start(j.lease/3, func() { j.renew(ctx) })
	}
	return done.Writes, nil
}

func (j *journal) releases(o outcome) bool {
	return o.end && o.status == checkpoint.Done && j.release
}

// append stores a record, with writes in the same act.
func (j *journal) append(ctx context.Context, rec checkpoint.Record, writes []checkpoint.Write, o outcome) error {
	a := checkpoint.Append{
		Thread: j.thread, After: j.head, Records: []checkpoint.Record{rec}, Writes: writes, Fence: j.fence,
		Status: o.status, Lease: j.lease, End: o.end, Release: j.releases(o),
	}
	err := j.write(ctx, o.end, func(call context.Context) error {
		_, err := j.saver.Append(call, a)
		return err
	})
	if err == nil {
		j.head = rec.ID
	}
	return err
}

// put stores pending writes; with none it only says what became of the run.
func (j *journal) put(ctx context.Context, writes []checkpoint.Write, o outcome) error {
	p := checkpoint.PutWrites{Thread: j.thread, Fence: j.fence, Writes: writes, Status: o.status, Lease: j.lease, End: o.end}
	return j.write(ctx, o.end, func(call context.Context) error { return j.saver.PutWrites(call, p) })
}

// write makes one saver call, or queues it. The last write of a run is waited for, and those before it.
func (j *journal) write(ctx context.Context, last bool, call func(context.Context) error) error {
	now := func() error {
		c, cancel := j.saving(ctx)
		defer cancel()
		err := call(c)
		j.timer.written()
		return err
	}
	if !last {
		if j.durability != Async {
			return now()
		}
		if j.queue == nil {
			j.queue = newQueue()
		}
		return j.queue.add(now)
	}
	err := j.close()
	if err == nil {
		err = now()
	}
	j.ended = err == nil
	return err
}

// renew extends the lease. A run that finds its lease gone is stopped; any other failure is met again by
// its next write, which reports it.
func (j *journal) renew(ctx context.Context) {
	call, cancel := j.saving(ctx)
	defer cancel()
	err := j.saver.PutWrites(call, checkpoint.PutWrites{Thread: j.thread, Fence: j.fence, Lease: j.lease})
	if errors.Is(err, checkpoint.ErrConflict) {
		j.lost(err)
	}
}

// close stops the renewals and waits for queued writes. It does not give up the lease: the run's last write does.
func (j *journal) close() error {
	j.timer.stop()
	if j.queue == nil {
		return nil
	}
	q := j.queue
	j.queue = nil
	return q.close()
}

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

// written tells that a write has just renewed the lease.
func (t *leaseTimer) written() {
	t.mu.Lock()
	t.wrote = time.Now()
	t.mu.Unlock()
}

// stop ends the renewals, and waits for one that is under way: renewed after the run's last write, the lease
// would outlive the run.
func (t *leaseTimer) stop() {
	t.mu.Lock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.calls.Wait()
}

// asyncQueue is how many writes of an Async run wait at most; a run that is further ahead waits for them.
const asyncQueue = 16

// queue runs calls one after another on a goroutine of its own. After one fails the rest are dropped: they
// build on it.
type queue struct {
	calls  chan func() error
	done   chan struct{}
	mu     sync.Mutex
	failed error
}

func newQueue() *queue {
	q := &queue{calls: make(chan func() error, asyncQueue), done: make(chan struct{})}
	go q.run()
	return q
}

func (q *queue) run() {
	defer close(q.done)
	for call := range q.calls {
		if q.err() != nil {
			continue
		}
		if err := call(); err != nil {
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
	q.calls <- call
	return nil
}

// close waits for what is queued and returns the first error.
func (q *queue) close() error {
	close(q.calls)
	<-q.done
	return q.err()
}
