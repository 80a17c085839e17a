package fleet_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// callCounter counts the calls of a saver, without those by which an idle worker looks for work.
type callCounter struct {
	checkpoint.Saver
	calls atomic.Int64
	ready atomic.Int64 // the looks for work

	awaits string       // a thread that gets an input
	stored atomic.Bool  // the input is stored
	found  atomic.Bool  // a look has returned the thread
	missed atomic.Int64 // the looks that began after stored and before found, without the thread
}

func (c *callCounter) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	c.ready.Add(1)
	late := c.stored.Load()
	due, err := c.Saver.Ready(ctx, q)
	switch {
	case c.found.Load():
	case slices.ContainsFunc(due.Threads, func(t checkpoint.ReadyThread) bool { return t.ID == c.awaits }):
		c.found.Store(true)
	case late:
		c.missed.Add(1)
	}
	return due, err
}

func (c *callCounter) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	c.calls.Add(1)
	return c.Saver.Append(ctx, a)
}

func (c *callCounter) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	c.calls.Add(1)
	return c.Saver.PutWrites(ctx, w)
}

func (c *callCounter) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c.calls.Add(1)
	return c.Saver.Load(ctx, p)
}

func (c *callCounter) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	c.calls.Add(1)
	return c.Saver.Post(ctx, posts...)
}

func (c *callCounter) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	c.calls.Add(1)
	return c.Saver.Mail(ctx, q)
}

func (c *callCounter) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	c.calls.Add(1)
	return c.Saver.News(ctx, threads)
}

func (c *callCounter) Delete(ctx context.Context, thread string) error {
	c.calls.Add(1)
	return c.Saver.Delete(ctx, thread)
}

func (c *callCounter) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	c.calls.Add(1)
	return c.Saver.Rewake(ctx, r)
}

// TestAThreadThatWaitsForAQueueHoldsNothing tests rule 23.7.
func TestAThreadThatWaitsForAQueueHoldsNothing(t *testing.T) {
	for _, n := range []int{64, 1024} {
		if looks := holdNothing(t, n); looks > 2*30*60 { // about one in a second
			t.Errorf("%d threads: the idle worker has looked %d times in 30 minutes, want those of its poll", n, looks)
		}
	}
}

// holdNothing has n threads wait for a queue that nobody serves. It returns the looks of the
// worker meanwhile.
func holdNothing(t *testing.T, n int) (looks int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &callCounter{Saver: memory.New()}
		var ran, began atomic.Int32
		render := func(context.Context, Job) (JobUpdate, error) { ran.Add(1); return said("gpu"), nil }
		g := heavy(t, s, render)
		light := line(t, "light", s, func(context.Context, Job) (JobUpdate, error) { began.Add(1); return said("light"), nil })
		stop := running(worker.New(s, worker.Options{Slots: 2}, g, light))
		threads := ids("t", n)
		for _, id := range threads {
			if _, err := g.Thread(id).Submit(t.Context(), said("in")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		for _, id := range threads {
			if th := listed(t, s, id); th.Status != graph.Waiting || th.Holder != "" {
				t.Fatalf("thread %s: got %s, held by %q; want it waiting, held by nobody", id, th.Status, th.Holder)
			}
		}
		before, ready := s.calls.Load(), s.ready.Load()
		time.Sleep(30 * time.Minute) // no worker serves the queue
		if got := s.calls.Load() - before; got != 0 {
			t.Errorf("calls of the saver while %d threads wait: got %d, want 0", n, got)
		}
		looks = s.ready.Load() - ready
		if _, err := light.Thread("l").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // more than a poll
		if began.Load() != 1 {
			t.Error("an input of another graph has not begun")
		}
		stopPool := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 4}, QueuesOnly: true}, heavy(t, s, render)))
		time.Sleep(5 * time.Minute)
		for _, id := range threads {
			snap, err := g.Thread(id).State(t.Context())
			if err != nil || snap.Status != graph.Done || strings.Join(snap.State.Log, " ") != "in n0 gpu" {
				t.Errorf("thread %s: got %v, %s and %v; want it done", id, snap.State.Log, snap.Status, err)
			}
		}
		if got := ran.Load(); int(got) != n {
			t.Errorf("calls of the node: got %d, want %d", got, n)
		}
		for _, stop := range []func() error{stopPool, stop} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
	return looks
}

// TestATaskOfAQueueInTheSameProcessCostsFewCalls compares a thread whose last node has a queue of
// the same worker with one whose last node has none.
func TestATaskOfAQueueInTheSameProcessCostsFewCalls(t *testing.T) {
	cost := func(queued bool) (calls int64) {
		synctest.Test(t, func(t *testing.T) {
			s := &callCounter{Saver: memory.New()}
			last, o := say("n1"), worker.Options{Slots: 2}
			g := heavy(t, s, last)
			if o.Queues = map[string]int{"gpu": 1}; !queued {
				o.Queues = nil
				g = line(t, "local", s, say("n0"), last)
			}
			stop := running(worker.New(s, o, g))
			if _, err := g.Thread("t").Submit(t.Context(), said("in")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if calls = s.calls.Load(); listed(t, s.Saver, "t").Status != graph.Done {
				t.Error("the thread is not done")
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
		return calls
	}
	// Two calls hand the task out and end the run. Five run it: its input, the news and the state
	// of the thread, the outcome, the end. Two load and open the thread again.
	if local, queued := cost(false), cost(true); queued > local+9 {
		t.Errorf("calls of the saver: got %d with a queue and %d without, want at most 9 more", queued, local)
	}
}
