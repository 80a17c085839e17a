package rows_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// held is a Store whose changes wait until a channel is closed, if there is one. It counts them,
// by how many threads each has.
type held struct {
	*memrows.Store
	until chan struct{}
	fails func(c *rows.Change) error // before c is stored; nil stores all changes
	read  func()                     // before the next Read

	mu    sync.Mutex
	sizes []int
}

func (h *held) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	h.mu.Lock()
	read := h.read
	h.read = nil
	h.mu.Unlock()
	if read != nil {
		read()
	}
	return h.Store.Read(ctx, ranges...)
}

func (h *held) Apply(ctx context.Context, c *rows.Change) (uint64, [][]rows.Row, error) {
	h.mu.Lock()
	h.sizes = append(h.sizes, len(c.Checks))
	until, fails := h.until, h.fails
	h.mu.Unlock()
	if until != nil {
		<-until
	}
	if fails != nil {
		if err := fails(c); err != nil {
			return 0, nil, err
		}
	}
	return h.Store.Apply(ctx, c)
}

// hold makes changes wait from now on, and forgets those before.
func (h *held) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until, h.sizes = make(chan struct{}), nil
}

// removing is a Saver on a Store that holds its changes.
type removing struct {
	*testing.T
	*held
	s      *rows.Saver
	fences map[string]checkpoint.ID // by thread
	calls  sync.WaitGroup

	mu   sync.Mutex
	errs map[string]error
}

// newRemoving stores threads, whose runs have ended, and holds the removal of the first one.
func newRemoving(t *testing.T, threads ...string) *removing {
	t.Helper()
	h := &held{Store: memrows.New()}
	r := &removing{T: t, held: h, s: rows.New("test", h, rows.Options{})}
	r.fences, r.errs = make(map[string]checkpoint.ID), make(map[string]error)
	for _, thread := range threads {
		a := opens(t, thread)
		if _, err := r.s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		r.fences[thread] = a.Records[0].ID
	}
	h.hold()
	r.remove(t.Context(), threads[0])
	return r
}

// opens returns a run that ends as it begins.
func opens(t *testing.T, thread string) checkpoint.Append {
	t.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	return checkpoint.Append{Thread: thread, Open: &checkpoint.Opening{}, End: true, Records: []checkpoint.Record{{
		ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: "g", Snapshot: true, Payload: []byte{0x80},
	}}}
}

// remove begins the removal of threads, each by a call of its own that waits when remove returns.
func (r *removing) remove(ctx context.Context, threads ...string) {
	for _, thread := range threads {
		r.calls.Go(func() {
			err := r.s.Delete(ctx, thread)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.errs[thread] = err
		})
		synctest.Wait()
	}
}

// release lets all changes pass, and waits for all calls.
func (r *removing) release() {
	close(r.until)
	r.calls.Wait()
}

// want checks how many threads the changes had, and whether threads are there.
func (r *removing) want(sizes []int, there map[string]bool) {
	r.Helper()
	if got := fmt.Sprint(r.sizes); got != fmt.Sprint(sizes) {
		r.Errorf("the changes have %s threads, want %d", got, sizes)
	}
	for thread, want := range there {
		news, err := r.s.News(r.Context(), []string{thread})
		if err != nil || (news[0].Version == 1) != want {
			r.Errorf("thread %s: got %v, %v; want it there: %t", thread, news, err, want)
		}
	}
}

// A call that waits and has returned removes nothing later.
func TestADeleteWhoseContextHasEndedIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemoving(t, "first", "kept", "other")
		ctx, cancel := context.WithCancel(t.Context())
		r.remove(ctx, "kept")
		cancel()
		synctest.Wait()
		if err := r.errs["kept"]; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want that the context has ended", err)
		}
		r.release()
		if err := r.s.Delete(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		r.want([]int{1, 1}, map[string]bool{"first": false, "kept": true, "other": false})
	})
}

// A call that has returned removes nothing either if the threads are then tried one by one.
func TestADeleteThatHasReturnedIsNotTriedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemoving(t, "first", "a", "kept")
		ctx, cancel := context.WithCancel(t.Context())
		r.remove(t.Context(), "a")
		r.remove(ctx, "kept")
		r.fails = func(c *rows.Change) error {
			if !c.Joint {
				return nil
			}
			cancel()
			synctest.Wait()
			return errors.New("a thread is locked")
		}
		r.release()
		r.want([]int{1, 2, 1}, map[string]bool{"first": false, "a": false, "kept": true})
	})
}

// A call that has returned does not remove a thread that was made after it.
func TestADeleteThatHasReturnedKeepsANewThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemoving(t, "first", "a", "kept")
		ctx, cancel := context.WithCancel(t.Context())
		r.remove(t.Context(), "a")
		r.remove(ctx, "kept")
		other := rows.New("other", r.Store, rows.Options{})
		r.read = func() {
			cancel()
			synctest.Wait()
			if err := other.Delete(t.Context(), "kept"); err != nil {
				t.Error(err)
			}
			if _, err := other.Append(t.Context(), opens(t, "kept")); err != nil {
				t.Error(err)
			}
		}
		r.release()
		if err := r.errs["kept"]; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the context has ended", err)
		}
		r.want([]int{1, 1}, map[string]bool{"first": false, "a": false, "kept": true})
	})
}

// A removal of several threads is joint: so a Store does not wait for one that is locked.
func TestAThreadThatIsLockedDoesNotHoldOtherRemovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemoving(t, "first", "a", "b")
		r.fails = func(c *rows.Change) error {
			if c.Joint != (len(c.Checks) > 1) {
				t.Errorf("a change of %d threads is joint: %t", len(c.Checks), c.Joint)
			}
			if c.Joint {
				return errors.New("a thread is locked")
			}
			return nil
		}
		r.remove(t.Context(), "a", "b")
		r.release()
		r.want([]int{1, 2, 1, 1}, map[string]bool{"first": false, "a": false, "b": false})
	})
}

// A failed removal of many threads does not become as many calls at the same time.
func TestFewThreadsOfAFailedRemovalAreTriedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		threads := make([]string, 20)
		sizes, there := []int{1, len(threads) - 1}, make(map[string]bool)
		for i := range threads {
			threads[i] = fmt.Sprint(i)
			there[threads[i]] = false
		}
		r := newRemoving(t, threads...)
		r.remove(t.Context(), threads[1:]...)
		pass := make(chan struct{})
		r.fails = func(c *rows.Change) error {
			if c.Joint {
				return errors.New("a thread is locked")
			}
			<-pass
			return nil
		}
		close(r.until)
		synctest.Wait()
		r.want([]int{1, 19, 1, 1, 1, 1, 1, 1, 1, 1}, nil)
		close(pass)
		r.calls.Wait()
		for range threads[1:] {
			sizes = append(sizes, 1)
		}
		r.want(sizes, there)
	})
}

// Two calls for one thread are not one change, which has at most one check of a thread.
func TestDeletesOfOneThreadTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemoving(t, "first", "a", "b")
		r.remove(t.Context(), "a", "a", "b")
		r.release()
		r.want([]int{1, 2}, map[string]bool{"first": false, "a": false, "b": false})
	})
}

func TestAStorageThatIsAwayIsAskedOnceForManyRemovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemoving(t, "first", "a", "b", "c")
		r.remove(t.Context(), "a", "b", "c")
		r.fails = func(c *rows.Change) error {
			if len(c.Checks) > 1 {
				return checkpoint.ErrUnavailable
			}
			return nil
		}
		r.release()
		for _, thread := range []string{"a", "b", "c"} {
			if err := r.errs[thread]; !errors.Is(err, checkpoint.ErrUnavailable) {
				t.Errorf("thread %s: got %v, want %v", thread, err, checkpoint.ErrUnavailable)
			}
		}
		r.want([]int{1, 3}, map[string]bool{"first": false, "a": true, "b": true, "c": true})
	})
}

// The thread that a Store with partitions has removed is forgotten: a commit of its run
// reads it, and is not tried.
func TestAThreadOfAPartialRemovalIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemoving(t, "first", "a", "b")
		other := rows.New("other", r.Store, rows.Options{})
		r.fails = func(c *rows.Change) error {
			if !c.Joint {
				return nil
			}
			if err := other.Delete(t.Context(), "a"); err != nil {
				t.Error(err)
			}
			return &rows.PartError{Stored: []string{"a"}, Err: rows.ErrChanged}
		}
		r.remove(t.Context(), "a", "b")
		r.release()
		if err := errors.Join(r.errs["a"], r.errs["b"]); err != nil {
			t.Error(err)
		}
		r.want([]int{1, 2, 1}, map[string]bool{"first": false, "a": false, "b": false})
		fence := r.fences["a"]
		late := opens(t, "a")
		late.Open, late.End, late.Fence, late.After = nil, false, fence, fence
		late.Records[0].Parent, late.Records[0].Line = fence, fence
		if _, err := r.s.Append(t.Context(), late); !errors.Is(err, checkpoint.ErrConflict) {
			t.Errorf("a commit of a thread that is gone: got %v, want %v", err, checkpoint.ErrConflict)
		}
		r.want([]int{1, 2, 1}, nil)
	})
}

// Each change stores at most one readable state.
func TestEndsWithReadableStatesAreNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{Store: memrows.New()}
		s := rows.New("test", h, rows.Options{Join: true, Readable: true})
		h.hold()
		var calls sync.WaitGroup
		for i := range 4 {
			calls.Go(func() {
				if _, err := s.Append(t.Context(), opens(t, fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(h.until)
		calls.Wait()
		if got, want := fmt.Sprint(h.sizes), "[1 1 1 1]"; got != want {
			t.Errorf("the changes have %s threads, want %s", got, want)
		}
	})
}
