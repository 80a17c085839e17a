package graph

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
)

// RateGlobal returns a Limiter that lets at most n attempts start in any period, in several
// processes. Each of them makes it with the same n, period and name, and a saver of the same
// storage. Compile reports an n below 1, a period of 0 or less, an empty name and a nil saver.
//
// The budget is a thread with a reserved id, which stores the next free start. Starts are at equal
// distances, on the clock of the storage. So the clocks of the processes do not matter, and an
// attempt that finds no free start waits for the next one. An attempt begins less than a slack
// after its start, or gets another one. The slack is a twentieth of the period, and at most 1 s.
// The distance is period plus slack, divided by n. So the bound is exact as long as a call of the
// saver takes less than half of the slack. Otherwise a window can be too short by the time of a
// call.
//
// A process reserves one start for each of its attempts that wait, up to those of a second, in one
// write. So attempts that wait share a write. Attempts of one process begin in the order of their
// arrival. A process that dies loses only the starts that it has reserved: the others are not
// affected, and the starts after them are free.
//
// A reservation costs one call of the saver if no other process has made one since the last.
// Otherwise it costs two, and one more if both write at the same time. While the saver does not
// answer, attempts wait. The thread has some 64 records at most, and stays. Prune with
// checkpoint.Retention.Ended removes it when nobody uses it.
func RateGlobal(saver checkpoint.Saver, name string, n int, period time.Duration) Limiter {
	slack := min(period/20, time.Second)
	apart := max(period+slack, 1)
	if n > 1 {
		apart = (apart-1)/time.Duration(n) + 1 // rounded up
	}
	return &budget{saver: saver, name: name, most: n, period: period, slack: slack, apart: apart, queue: MaxConcurrent(1)}
}

// The names of a budget: of its graph, which also begins the id of its thread, and of the metadata
// of its records.
const (
	budgetGraph = ReservedPrefix + "rate"
	nextKey     = "next"   // the next free start, in the form of time.RFC3339Nano
	startsKey   = "starts" // how many starts before it the record has reserved
)

// The most records that a budget has before a reservation removes those before it.
const budgetRecords = 64

// budget is a rate of several processes.
type budget struct {
	saver  checkpoint.Saver
	name   string
	most   int
	period time.Duration
	slack  time.Duration // how long after its start an attempt may begin
	apart  time.Duration // of two starts

	waiting atomic.Int64 // attempts of this process
	queue   Limiter      // of these attempts; who holds it uses the following

	first time.Time // the first of the reserved starts that are left
	left  int       // their number

	head  checkpoint.ID // of the thread, as this process knows it
	next  time.Time     // the next free start at that head
	alone bool          // no other process has reserved starts lately
	clock storageClock
	took  time.Duration // of the last write
}

// Acquire implements Limiter.
func (b *budget) Acquire(ctx context.Context) (release func(), err error) {
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	leave, err := b.queue.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for pause := leastPoll; ; {
		begins, err := b.start(ctx)
		if begins || err != nil {
			return nil, err
		}
		err = b.reserve(ctx)
		switch {
		case err == nil:
			pause = leastPoll
			continue
		case lasts(err):
			return nil, fmt.Errorf("graph: RateGlobal %s: %w", quoted(ID(b.name)), err)
		case !exec.Rest(ctx, pause/2+rand.N(pause)):
			return nil, ctx.Err()
		}
		pause = min(2*pause, mostPoll)
	}
}

// start waits for the first of the reserved starts that is not over. It reports whether there is
// one. If ctx ends, the start is left to another attempt.
func (b *budget) start(ctx context.Context) (begins bool, err error) {
	for b.left > 0 {
		if wait := b.first.Sub(b.clock.now()); wait > 0 && !exec.Rest(ctx, wait) {
			return false, ctx.Err()
		}
		latest := b.clock.now().Add(min(b.clock.trip, b.slack/2))
		begins := !latest.After(b.first.Add(b.slack))
		b.first, b.left = b.first.Add(b.apart), b.left-1
		if begins {
			return true, nil
		}
	}
	return false, nil
}

// reserve stores that the next free starts are those of this process.
func (b *budget) reserve(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, permitCall)
	defer cancel()
	if !b.alone {
		if err := b.load(call); err != nil {
			return err
		}
	}
	first := later(b.next, b.clock.now().Add(b.took)) // not before the write will have been made
	starts := int(max(1, min(b.waiting.Load(), int64(time.Second/b.apart))))
	if b.clock.reply.IsZero() {
		starts = 0 // the write creates the thread, and shows the clock
	}
	next := first.Add(time.Duration(starts) * b.apart)
	id, err := checkpoint.NewIDAfter(b.head)
	if err != nil {
		return err
	}
	began := time.Now()
	written, err := b.saver.Append(call, checkpoint.Append{
		Thread: b.thread(), After: b.head, Status: checkpoint.Done, End: true,
		Open: &checkpoint.Opening{Holder: processName(), Title: "rate " + b.name},
		Records: []checkpoint.Record{{
			ID: id, Parent: b.head, Base: id, Line: id, Source: checkpoint.Input, Graph: budgetGraph, Snapshot: true, Payload: []byte{0x80},
			Meta: map[string]string{nextKey: next.UTC().Format(time.RFC3339Nano), startsKey: strconv.Itoa(starts)}, Created: began.UTC(),
		}},
	})
	if err != nil {
		b.alone = false // or the write was made, and its reply is lost
		return err
	}
	b.took = time.Since(began)
	b.clock.set(written.Now, began)
	b.head, b.next, b.first, b.left = id, next, first, starts
	if written.Head%budgetRecords == 0 {
		_, _ = b.saver.Prune(call, b.thread(), checkpoint.Retention{Last: 1, Fence: id}) // the next one tries again
	}
	return nil
}

// load reads the next free start. If this process has made the last reservation, the next one
// need not read.
func (b *budget) load(ctx context.Context) error {
	began := time.Now()
	c, err := b.saver.Load(ctx, checkpoint.Ref{Thread: b.thread()})
	if err != nil {
		return err
	}
	var next time.Time
	if !c.Empty() {
		if next, err = time.Parse(time.RFC3339Nano, c.Last.Meta[nextKey]); err != nil {
			return fmt.Errorf("thread %q: %w: the metadata %q of its last record is no time; delete the thread", b.thread(), checkpoint.ErrDamaged, nextKey)
		}
		b.clock.set(c.Thread.Now, began)
	}
	b.alone = c.Head == b.head
	b.head, b.next = c.Head, later(b.next, next) // the thread can have been deleted
	return nil
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// thread returns the id of the thread of the budget.
func (b *budget) thread() string { return budgetGraph + "/" + b.name }

// storageClock is the clock of a storage, as the shortest call of the last minute has shown it.
type storageClock struct {
	at    time.Time     // on the clock of the storage, during the call
	reply time.Time     // when the call returned
	trip  time.Duration // how long it took
}

// now returns the time of the storage. It can be less, by at most c.trip.
func (c *storageClock) now() time.Time { return c.at.Add(time.Since(c.reply)) }

// set notes the time that a call has returned, which began at a time.
func (c *storageClock) set(at, began time.Time) {
	if trip := time.Since(began); c.reply.IsZero() || trip <= c.trip || time.Since(c.reply) > time.Minute {
		*c = storageClock{at: at.Round(0), reply: time.Now(), trip: trip}
	}
}
