package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// hints is an engine that keeps what it sends. A call takes the time pause, and fails with fail.
type hints struct {
	worker.Hub
	pause time.Duration
	fail  error

	mu   sync.Mutex
	sent []string
}

func (h *hints) Wake(ctx context.Context, name, thread string) error {
	if h.pause > 0 {
		select {
		case <-time.After(h.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = append(h.sent, name+"/"+thread)
	return h.fail
}

// take returns what was sent since the last call.
func (h *hints) take() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	sent := h.sent
	h.sent = nil
	return sent
}

func TestAnAnnouncerHintsAfterEachWriteThatMakesAThreadDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := new(hints)
		s := worker.Announce(memory.New(), e, nil)
		var behave node
		g := line(t, "orders", s, func(ctx context.Context, j Job) (JobUpdate, error) { return behave(ctx, j) })
		th := g.Thread("t")
		check := func(what string, want ...string) {
			t.Helper()
			if got := e.take(); !slices.Equal(got, want) {
				t.Errorf("%s: got the hints %q, want %q", what, got, want)
			}
		}
		behave = say("a")
		if _, err := th.Invoke(t.Context(), JobUpdate{}); err != nil {
			t.Fatal(err)
		}
		check("a run that is done")
		behave = func(ctx context.Context, _ Job) (JobUpdate, error) { return said("slept"), graph.Sleep(ctx, time.Hour) }
		if _, err := th.Invoke(t.Context(), JobUpdate{}); err != nil {
			t.Fatal(err)
		}
		check("a run that ends asleep", "orders/t")
		behave = func(context.Context, Job) (JobUpdate, error) {
			_, err := th.Submit(t.Context(), JobUpdate{})
			check("a submit to a run in progress", "orders/t")
			return said("b"), err
		}
		time.Sleep(2 * time.Hour)
		if _, err := th.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("a run that ends with an input left", "orders/t")
		if err := th.Cancel(t.Context(), "no"); err != nil {
			t.Fatal(err)
		}
		check("a cancel", "orders/t")
	})
}

func TestASubmitDoesNotWaitForTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &hints{pause: time.Second}
		s := worker.Announce(memory.New(), e, nil)
		g := line(t, "orders", s, say("a"))
		began := time.Now()
		for i := range 3000 {
			if _, err := g.Thread(fmt.Sprint(i)).Submit(t.Context(), JobUpdate{}); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Thread("0").Submit(t.Context(), JobUpdate{}); err != nil && !errors.Is(err, checkpoint.ErrInboxFull) {
				t.Fatal(err)
			}
		}
		if got := time.Since(began); got != 0 {
			t.Errorf("the submits took %s, want no wait", got)
		}
		time.Sleep(time.Hour)
		if got := len(e.take()); got < 1000 || got > 1100 {
			t.Errorf("got %d hints, want those that fit, each thread once", got)
		}
	})
}

func TestAFailedEngineLosesHintsAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, failures := &hints{pause: time.Second, fail: errBroken}, 0
		s := worker.Announce(memory.New(), e, func(err error) {
			if errors.Is(err, errBroken) {
				failures++
			}
		})
		g := line(t, "orders", s, say("a"))
		for round := range 3 {
			for i := range 100 {
				if _, err := g.Thread(fmt.Sprint(round, i)).Submit(t.Context(), JobUpdate{}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
		}
		if got := len(e.take()); got != 3 || failures != 3 {
			t.Errorf("got %d calls and %d failures, want one for each round", got, failures)
		}
	})
}

func TestTheEndOfAnAnnouncerWaitsForItsHints(t *testing.T) {
	for pause, want := range map[time.Duration]int{100 * time.Millisecond: 5, time.Minute: 0} {
		synctest.Test(t, func(t *testing.T) {
			e := &hints{pause: pause}
			s := worker.Announce(memory.New(), e, nil)
			g := line(t, "orders", s, say("a"))
			for i := range 5 {
				if _, err := g.Thread(fmt.Sprint(i)).Submit(t.Context(), JobUpdate{}); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got > 2*time.Second {
				t.Errorf("Close took %s, want at most 2s", got)
			}
			if got := len(e.take()); got != want {
				t.Errorf("with calls of %s: got %d hints, want %d", pause, got, want)
			}
			if _, err := s.Versions(t.Context(), "0"); !errors.Is(err, checkpoint.ErrClosed) {
				t.Errorf("got %v, want the saver closed", err)
			}
		})
	}
}
