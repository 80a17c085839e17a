package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// deadSaver fails all calls once its process is dead.
type deadSaver struct {
	checkpoint.Saver
	dead atomic.Bool
}

func (d *deadSaver) err() error {
	if d.dead.Load() {
		return checkpoint.ErrUnavailable
	}
	return nil
}

func (d *deadSaver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if err := d.err(); err != nil {
		return checkpoint.AppendResult{}, err
	}
	return d.Saver.Append(ctx, a)
}

func (d *deadSaver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if err := d.err(); err != nil {
		return checkpoint.PutResult{}, err
	}
	return d.Saver.PutWrites(ctx, w)
}

// acquire takes a permit, or fails the test.
func acquire(t *testing.T, l graph.Limiter) (release func()) {
	t.Helper()
	release, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// TestAGlobalLimitIsExact has ten processes with five attempts each. Attempts take longer than a
// lease, and some are short.
func TestAGlobalLimitIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := memory.New(), 3
		var running, most, ran atomic.Int32
		var all sync.WaitGroup
		for process := range 10 {
			limit := graph.MaxConcurrentGlobal(s, "model", n)
			for i := range 5 {
				all.Go(func() {
					release := acquire(t, limit)
					defer release()
					now := running.Add(1)
					for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
					}
					time.Sleep(time.Second)
					if process == i {
						time.Sleep(time.Minute)
					}
					running.Add(-1)
					ran.Add(1)
				})
			}
		}
		all.Wait()
		same(t, "attempts", ran.Load(), int32(50))
		same(t, "most at a time", most.Load(), int32(n))
		for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			t.Errorf("got thread %s and %v, want that permits leave nothing", th.ID, err)
		}
	})
}

// TestAPermitOfADeadProcessReturns counts the time until another process has it.
func TestAPermitOfADeadProcessReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		dying := &deadSaver{Saver: s}
		one, other := graph.MaxConcurrentGlobal(dying, "model", 1), graph.MaxConcurrentGlobal(s, "model", 1)
		lost := acquire(t, one)
		time.Sleep(time.Minute) // it renews its lease
		began := time.Now()
		dying.dead.Store(true)
		release := acquire(t, other)
		if took := time.Since(began); took < 15*time.Second || took > 21*time.Second {
			t.Errorf("got the permit after %s, want it after the lease", took)
		}
		lost()
		dying.dead.Store(false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := one.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the other process has the permit", err)
		}
		release()
		acquire(t, one)()
	})
}

func TestAGlobalLimitWaitsForItsSaver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &deadSaver{Saver: memory.New()}
		s.dead.Store(true)
		began := time.Now()
		time.AfterFunc(time.Minute, func() { s.dead.Store(false) })
		acquire(t, graph.MaxConcurrentGlobal(s, "model", 2))()
		if took := time.Since(began); took < time.Minute {
			t.Errorf("got a permit after %s, want it when the saver answers", took)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := graph.MaxConcurrentGlobal(s, "model", 2).Acquire(t.Context()); !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

func TestAGlobalLimitBoundsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		takes := func(context.Context, work) (update, error) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return update{}, nil
		}
		app := compile(t, wide(6, takes, graph.Limit(graph.MaxConcurrentGlobal(memory.New(), "model", 2))))
		if _, err := app.Run(t.Context(), update{}); err != nil {
			t.Fatal(err)
		}
		same(t, "most at a time", most.Load(), int32(2))
	})
	for _, l := range []graph.Limiter{
		graph.MaxConcurrentGlobal(nil, "model", 1), graph.MaxConcurrentGlobal(memory.New(), "", 1), graph.MaxConcurrentGlobal(memory.New(), "model", 0),
	} {
		if _, err := wide(1, say("a"), graph.Limit(l)).Compile(); err == nil || !strings.Contains(err.Error(), "MaxConcurrentGlobal") {
			t.Errorf("got %v, want a fault of the Limit", fmt.Sprint(err))
		}
	}
}
