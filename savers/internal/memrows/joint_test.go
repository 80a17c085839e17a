package memrows_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// gate is a Store whose changes wait until the test lets them pass. It counts them, by how many
// threads each has.
type gate struct {
	rows.Store
	pass chan struct{} // gets a value for each change, or is closed

	mu     sync.Mutex
	passed []int
	refuse func(c *rows.Change) error // nil stores all changes
}

func (g *gate) Apply(ctx context.Context, c *rows.Change) (uint64, [][]rows.Row, error) {
	select {
	case <-g.pass:
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	g.mu.Lock()
	g.passed = append(g.passed, len(c.Checks))
	refuse := g.refuse
	g.mu.Unlock()
	if refuse != nil {
		if err := refuse(c); err != nil {
			return 0, nil, err
		}
	}
	return g.Store.Apply(ctx, c)
}

// crowd is a Saver on a gate, and what its calls returned, by thread.
type crowd struct {
	*testing.T
	*gate
	s     *rows.Saver
	calls sync.WaitGroup

	mu   sync.Mutex
	errs map[string]error
}

// newCrowd returns a crowd whose first change waits at the gate.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	g := &gate{Store: newStore(), pass: make(chan struct{})}
	c := &crowd{T: t, gate: g, s: rows.New("test", g, rows.Options{Join: true}), errs: make(map[string]error)}
	if _, err := c.s.News(t.Context(), []string{"else"}); err != nil { // for the time: then an opening reads nothing
		t.Fatal(err)
	}
	c.open(t.Context(), "first")
	return c
}

// open begins threads, each by a call of its own that has begun to wait when open returns.
func (c *crowd) open(ctx context.Context, threads ...string) {
	c.Helper()
	for _, thread := range threads {
		a := opening(c.T, checkpoint.ID{})
		a.Thread = thread
		c.call(thread, func() error { _, err := c.s.Append(ctx, a); return err })
	}
}

// call makes a call that changes a thread, and returns when it waits.
func (c *crowd) call(thread string, f func() error) {
	c.calls.Go(func() {
		err := f()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.errs[thread] = err
	})
	synctest.Wait()
}

// want checks how many threads each change had, and which calls have failed.
func (c *crowd) want(failed error, failures []string, changes ...int) {
	c.Helper()
	c.calls.Wait()
	if got := fmt.Sprint(c.passed); got != fmt.Sprint(changes) {
		c.Errorf("the changes have %s threads, want %d", got, changes)
	}
	for _, thread := range failures {
		if !errors.Is(c.errs[thread], failed) {
			c.Errorf("thread %s: got the error %v, want %v", thread, c.errs[thread], failed)
		}
		delete(c.errs, thread)
	}
	for thread, err := range c.errs {
		if err != nil {
			c.Errorf("thread %s: %v", thread, err)
		}
		if news, err := c.s.News(c.Context(), []string{thread}); err != nil || news[0].Version != 1 {
			c.Errorf("thread %s: got the version %v, %v; want it stored", thread, news, err)
		}
	}
	for _, thread := range failures {
		if news, err := c.s.News(c.Context(), []string{thread}); err != nil || news[0].Version != 0 {
			c.Errorf("thread %s: got the version %v, %v; want nothing stored", thread, news, err)
		}
	}
}

func TestChangesThatWaitAreStoredAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		c.open(t.Context(), "a", "b", "c", "d")
		c.pass <- struct{}{}
		synctest.Wait()
		c.open(t.Context(), "e", "f")
		close(c.pass)
		c.want(nil, nil, 1, 4, 2)
	})
}

// The runs of the threads continue, so each has got the revision and the reads of its own thread.
func TestAMemberOfAJointChangeContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		all := make([]checkpoint.Append, 3)
		for i := range all {
			all[i] = opening(t, checkpoint.ID{})
			all[i].Thread = fmt.Sprint(i)
			all[i].Records[0].Payload = []byte{0x80}
			c.calls.Go(func() {
				if _, err := c.s.Append(t.Context(), all[i]); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(c.pass)
		c.want(nil, nil, 1, 3)
		for i := range all {
			id, before := newID(t), all[i].Records[0].ID
			_, err := c.s.Append(t.Context(), checkpoint.Append{Thread: fmt.Sprint(i), After: before, Fence: before, Records: []checkpoint.Record{{
				ID: id, Parent: before, Base: id, Commits: before, Line: before, Source: checkpoint.Loop, Graph: "g", Payload: []byte{0x80},
			}}})
			if err != nil {
				t.Error(err)
			}
		}
		if got := fmt.Sprint(c.passed); got != "[1 3 1 1 1]" {
			t.Errorf("the changes have %s threads; want one for each commit", got)
		}
	})
}

func TestAMemberThatFailsDoesNotFailTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		c.refuse = func(change *rows.Change) error {
			for _, k := range change.Checks {
				if k.Thread == "b" {
					return checkpoint.ErrTooLarge
				}
			}
			return nil
		}
		c.open(t.Context(), "a", "b", "c")
		close(c.pass)
		c.want(checkpoint.ErrTooLarge, []string{"b"}, 1, 3, 1, 1, 1, 1) // the opening of b reads, and is tried again
	})
}

// A storage that is away fails all of them, and is not asked once for each.
func TestAJointChangeOfAStorageThatIsAwayFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		c.refuse = func(change *rows.Change) error {
			if change.Joint {
				return checkpoint.ErrUnavailable
			}
			return nil
		}
		for _, thread := range [...]string{"a", "b"} {
			c.call(thread, func() error {
				_, err := c.s.Post(t.Context(), checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{{ID: "1", Kind: checkpoint.InputMessage}}})
				return err
			})
		}
		close(c.pass)
		c.want(checkpoint.ErrUnavailable, []string{"a", "b"}, 1, 2)
	})
}

func TestACallWhoseContextEndsWhileItWaitsIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		ctx, cancel := context.WithCancel(t.Context())
		c.open(ctx, "a")
		c.open(t.Context(), "b")
		c.open(ctx, "c")
		cancel()
		synctest.Wait()
		close(c.pass)
		c.want(context.Canceled, []string{"a", "c"}, 1, 1)
	})
}

// The contexts of all members end while their change is in progress.
func TestAJointChangeEndsWithItsLastMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		ctx, cancel := context.WithCancel(t.Context())
		c.open(ctx, "a", "b")
		c.pass <- struct{}{}
		synctest.Wait() // both are in progress
		cancel()
		c.want(context.Canceled, []string{"a", "b"}, 1)
		close(c.pass)
		if err := c.s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A change that is stuck, such as at the lock of its thread, holds up others for a moment only.
func TestAChangeThatIsStuckDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		began := time.Now()
		c.open(t.Context(), "a", "b")
		c.pass <- struct{}{} // of either: that of the first thread, or the joint one
		c.pass <- struct{}{}
		c.want(nil, nil, 1, 2)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("they waited for %v, although nothing is stuck", waited)
		}
		stuck := opening(t, checkpoint.ID{})
		stuck.Thread = "stuck"
		held, release := make(chan struct{}), make(chan struct{})
		c.refuse = func(change *rows.Change) error {
			if change.Checks[0].Thread == "stuck" {
				close(held)
				<-release
			}
			return nil
		}
		close(c.pass)
		c.calls.Go(func() {
			if _, err := c.s.Append(t.Context(), stuck); err != nil {
				t.Error(err)
			}
		})
		<-held
		for _, thread := range [...]string{"x", "y"} {
			a := opening(t, checkpoint.ID{})
			a.Thread = thread
			if _, err := c.s.Append(t.Context(), a); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(began); waited != 10*time.Millisecond {
			t.Errorf("they waited for %v, want 10ms once", waited)
		}
		close(release)
		c.calls.Wait()
	})
}

func newID(t *testing.T) checkpoint.ID {
	t.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}
