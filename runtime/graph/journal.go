package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// session is what a run has of a thread: the fence, the lease, and the order of its writes. Subgraphs write to the
// session of the run that they are in, from goroutines of their own.
type session struct {
	saver      checkpoint.Saver
	thread     string
	lease      time.Duration
	timeout    time.Duration
	durability Durability
	release    bool        // with the write that finishes the run
	lost       func(error) // stops the run's nodes when the lease is lost

	fence checkpoint.ID
	ended bool // the lease is given up
	timer leaseTimer

	mu     sync.Mutex // guards what follows
	queue  *queue     // of an Async run
	broken error      // of the queue: what was queued after it is not stored, nor is anything that builds on it
	gone   error      // why a write was refused: another run has the thread
}

// journal writes the records of one namespace. It knows where the log stands; what a record says is the matter of
// the run that it belongs to, whose goroutine calls all its methods. The lease timer has a goroutine of its own.
type journal struct {
	*session
	namespace string                             // "" for the run itself, else that of a subgraph call
	head      checkpoint.ID                      // the newest record, which may be among first
	stored    checkpoint.ID                      // the newest one before first
	first     []checkpoint.Record                // of a subgraph: records that go with its next write
	along     []checkpoint.Write                 // that go with first: they withdraw what was asked before a subgraph began again
	spared    func() func(namespace string) bool // with along: which namespaces' questions are not withdrawn
	tried     bool                               // first may be stored, with other writes than those it goes with now
}

// outcome is what a write says of the run beside its records. Those of subgraphs say nothing.
type outcome struct {
	status checkpoint.Status // zero leaves it
	end    bool              // the run ends with this write
}

// saving returns the context of one saver call: the caller's values, but not its cancellation.
func (j *session) saving(ctx context.Context) (context.Context, context.CancelFunc) {
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

// child returns the journal of a subgraph call.
func (j *journal) child(namespace string) *journal {
	return &journal{session: j.session, namespace: namespace}
}

func (j *journal) releases(o outcome) bool {
	return o.end && o.status == checkpoint.Done && j.release
}

// append stores a record, with writes in the same act.
func (j *journal) append(ctx context.Context, rec checkpoint.Record, writes []checkpoint.Write, o outcome) error {
	records := append(j.first, rec)
	if len(j.along) > 0 {
		spared := j.spared()
		for _, w := range j.along {
			if !spared(w.Namespace) {
				writes = append(writes, w)
			}
		}
	}
	if j.namespace != "" {
		o = outcome{}
	}
	a := checkpoint.Append{
		Thread: j.thread, Namespace: j.namespace, After: j.head, Records: records, Writes: writes, Fence: j.fence,
		Status: o.status, Lease: j.lease, End: o.end, Release: j.releases(o),
	}
	if records[0].ID != rec.ID || j.head == rec.ID {
		a.After = j.stored // the log is still without those that precede
	}
	err := j.write(ctx, o.end, func(call context.Context) error {
		_, err := j.saver.Append(call, a)
		return err
	})
	if err == nil {
		j.head, j.first, j.along = rec.ID, nil, nil
	}
	return err
}

// precede keeps a record for the next write: that of a subgraph, which opens nothing.
func (j *journal) precede(rec checkpoint.Record) {
	if len(j.first) == 0 {
		j.stored = j.head
	}
	j.first, j.head = append(j.first, rec), rec.ID
}

// put stores pending writes; with none it only says what became of the run.
func (j *journal) put(ctx context.Context, writes []checkpoint.Write, o outcome) error {
	if j.namespace != "" {
		o = outcome{}
		if n := len(j.first); n > 0 {
			last, before := j.first[n-1], j.tried
			j.first, j.tried = j.first[:n-1], true
			if err := j.append(ctx, last, writes, o); err != nil {
				j.first = j.first[:n]
				return err
			}
			if !before {
				return nil // else they may have been stored with other writes
			}
		}
		if len(writes) == 0 {
			return nil
		}
	}
	p := checkpoint.PutWrites{Thread: j.thread, Fence: j.fence, Writes: writes, Status: o.status, Lease: j.lease, End: o.end}
	return j.write(ctx, o.end, func(call context.Context) error { return j.saver.PutWrites(call, p) })
}

// write makes one saver call, or queues it. The last write of a run is waited for, and those before it.
func (j *session) write(ctx context.Context, last bool, call func(context.Context) error) error {
	now := func() error {
		c, cancel := j.saving(ctx)
		defer cancel()
		err := guarded(c, call)
		j.timer.written()
		j.refused(err)
		return err
	}
	if !last {
		if j.durability != Async {
			return now()
		}
		return j.later(now)
	}
	_ = j.close() // what it says stays in broken: tried again, the write is still not to be stored
	if err := j.brokenBy(); err != nil {
		j.letGo(ctx)
		return err
	}
	err := now()
	j.ended = err == nil
	return err
}

// letGo gives up the lease of a run whose last write failed, or cannot be made because a queued one
// failed. If this write fails too, the lease ends by itself.
func (j *session) letGo(ctx context.Context) {
	if j.ended {
		return
	}
	call, cancel := j.saving(ctx)
	defer cancel()
	err := j.saver.PutWrites(call, checkpoint.PutWrites{Thread: j.thread, Fence: j.fence, Lease: j.lease, End: true})
	j.ended = err == nil
}

// later queues a call.
func (j *session) later(call func() error) error {
	j.mu.Lock()
	if j.queue == nil {
		j.queue = newQueue()
	}
	q := j.queue
	j.mu.Unlock()
	return j.breaks(q.add(call))
}

// breaks takes note of an error of the queue, and returns it.
func (j *session) breaks(err error) error {
	if err != nil {
		j.mu.Lock()
		j.broken = err
		j.mu.Unlock()
	}
	return err
}

// brokenBy returns the error of a queued write that the run has come to know of; nil for none.
func (j *session) brokenBy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.broken
}

// renew extends the lease. A run that finds its lease gone is stopped; any other failure is met again by
// its next write, which reports it.
func (j *session) renew(ctx context.Context) {
	call, cancel := j.saving(ctx)
	defer cancel()
	err := guarded(call, func(ctx context.Context) error {
		return j.saver.PutWrites(ctx, checkpoint.PutWrites{Thread: j.thread, Fence: j.fence, Lease: j.lease})
	})
	if j.refused(err) {
		j.lost(err)
	}
}

// refused takes note of a write that was refused because another run has the thread, and reports whether err is that.
func (j *session) refused(err error) bool {
	if !errors.Is(err, checkpoint.ErrConflict) {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.gone = err
	return true
}

// lostThread returns the error that told that another run has the thread; nil while none does. An error of a node that is
// ErrConflict does not say so: it may be of another thread.
func (j *session) lostThread() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.gone
}

// settled waits until all that was queued is stored.
func (j *session) settled() error {
	j.mu.Lock()
	q := j.queue
	j.mu.Unlock()
	if q == nil {
		return nil
	}
	return q.wait()
}

// close stops the renewals and waits for queued writes. It does not give up the lease: the run's last write does.
func (j *session) close() error {
	j.timer.stop()
	j.mu.Lock()
	q := j.queue
	j.queue = nil
	j.mu.Unlock()
	if q == nil {
		return nil
	}
	return j.breaks(q.close())
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
	q := &queue{calls: make(chan queued, asyncQueue), done: make(chan struct{})}
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
