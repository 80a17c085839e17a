package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestABusyErrorNamesTheRequestThatRuns(t *testing.T) {
	b := newWork()
	began, goOn := make(chan struct{}), make(chan struct{})
	b.Node("slow", func(context.Context, work) (update, error) {
		close(began)
		<-goOn
		return logged("slow"), nil
	})
	b.Edge(graph.Start, "slow")
	b.Edge("slow", graph.End)
	th, _ := newThread(t, b, graph.Holder("worker 7"))
	ended := make(chan error, 1)
	go func() {
		_, err := th.Invoke(t.Context(), input, graph.RequestID("r1"))
		ended <- err
	}()
	<-began
	for _, c := range []struct{ request, want string }{{"r1", "r1"}, {"r2", ""}, {"", ""}} {
		var opts []graph.InvokeOption
		if c.request != "" {
			opts = append(opts, graph.RequestID(c.request))
		}
		_, err := th.Invoke(t.Context(), input, opts...)
		var busy *checkpoint.BusyError
		if !errors.As(err, &busy) {
			t.Fatalf("request %q: got %v, want a *checkpoint.BusyError", c.request, err)
		}
		same(t, "request "+c.request, []string{busy.Request, busy.Holder}, []string{c.want, "worker 7"})
	}
	_, err := th.Invoke(t.Context(), logged("other"), graph.RequestID("r1"))
	if !errors.Is(err, graph.ErrRequestReused) {
		t.Errorf("another input under the id of the request that runs: got %v, want ErrRequestReused", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestARequestIDBelongsToOneInput(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, chain("a", "b"), d, graph.InterruptBefore("b"))
		done(t, graph.Paused)(th.Invoke(t.Context(), logged("one"), graph.RequestID("r1")))
		for _, when := range []string{"unfinished", "finished"} {
			_, err := th.Invoke(t.Context(), logged("two"), graph.RequestID("r1"))
			if !errors.Is(err, graph.ErrRequestReused) {
				t.Errorf("%s: another input under the same id: got %v, want ErrRequestReused", when, err)
			}
			_, err = th.Invoke(t.Context(), logged("one"), graph.RequestID("r1"))
			if err != nil {
				t.Errorf("%s: the same input: %v", when, err)
			}
		}
	})
}

// crowded refuses the first openings, as if other calls had been faster.
type crowded struct {
	checkpoint.Saver
	left atomic.Int32
}

func (c *crowded) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Open != nil && c.left.Add(-1) >= 0 {
		return checkpoint.AppendResult{}, &checkpoint.ConflictError{Thread: a.Thread, Want: a.After, Reason: "head"}
	}
	return c.Saver.Append(ctx, a)
}

func TestWaitOutlastsOtherCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &crowded{Saver: memory.New()}
		th := compile(t, chain("a"), graph.Saver(s)).Thread("t")
		done(t, graph.Done)(th.Invoke(t.Context(), input))
		s.left.Store(100)
		if _, err := th.UpdateState(t.Context(), logged("edit"), graph.Wait()); err != nil {
			t.Errorf("with Wait, after 100 calls that were faster: got %v, want the edit stored", err)
		}
		s.left.Store(100)
		if _, err := th.UpdateState(t.Context(), logged("edit")); !errors.Is(err, checkpoint.ErrConflict) {
			t.Errorf("without Wait: got %v, want ErrConflict", err)
		}
		same(t, "openings left", s.left.Load(), int32(92))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.left.Store(100)
		_, err := th.UpdateState(ctx, logged("edit"), graph.Wait())
		if !errors.Is(err, checkpoint.ErrConflict) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with Wait until a deadline: got %v, want ErrConflict and context.DeadlineExceeded", err)
		}
	})
}

// unavailable is a saver whose server does not serve the next calls.
type unavailable struct {
	checkpoint.Saver
	left atomic.Int32
	err  error
}

func (u *unavailable) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if u.left.Add(-1) >= 0 {
		return checkpoint.Chain{}, u.err
	}
	return u.Saver.Load(ctx, p)
}

func (u *unavailable) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Open != nil && u.left.Add(-1) >= 0 {
		return checkpoint.AppendResult{}, u.err
	}
	return u.Saver.Append(ctx, a)
}

func TestWaitOutlastsAnUnavailableServer(t *testing.T) {
	for name, passing := range map[string]error{
		"unavailable":   fmt.Errorf("lock wait timeout: %w", checkpoint.ErrUnavailable),
		"slow":          fmt.Errorf("a call: %w", context.DeadlineExceeded),
		"damaged":       checkpoint.ErrDamaged,
		"anything else": errors.New("no such table"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &unavailable{Saver: memory.New(), err: passing}
				th := compile(t, chain("a"), graph.Saver(s)).Thread("t")
				done(t, graph.Done)(th.Invoke(t.Context(), input))
				passes := name == "unavailable" || name == "slow"
				s.left.Store(100)
				_, err := th.UpdateState(t.Context(), logged("edit"), graph.Wait())
				if passes && err != nil || !passes && !errors.Is(err, passing) {
					t.Errorf("with Wait: got %v, want it stored: %t", err, passes)
				}
				s.left.Store(100)
				_, err = th.UpdateState(t.Context(), logged("edit"))
				if !errors.Is(err, passing) || s.left.Load() != 99 {
					t.Errorf("without Wait: got %v after %d calls, want the saver's error after one", err, 100-s.left.Load())
				}
			})
		})
	}
}

// TestARequestIsKnownAfterALongRun repeats a request after a run of more records than are searched
// for it.
func TestARequestIsKnownAfterALongRun(t *testing.T) {
	const steps = 100
	b := newWork()
	b.Node("again", func(context.Context, work) (update, error) { return logged("step"), nil })
	b.Edge(graph.Start, "again")
	b.Route("again", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log) < steps {
			return graph.To("again"), nil
		}
		return graph.To(graph.End), nil
	}, "again", graph.End)
	th, _ := newThread(t, b)
	first := done(t, graph.Done)(th.Invoke(t.Context(), input, graph.RequestID("r1")))
	again := done(t, graph.Done)(th.Invoke(t.Context(), input, graph.RequestID("r1")))
	same(t, "checkpoint after the request was repeated", again.Checkpoint, first.Checkpoint)
	if _, err := th.Invoke(t.Context(), logged("other"), graph.RequestID("r1")); !errors.Is(err, graph.ErrRequestReused) {
		t.Errorf("another input under the id: got %v, want ErrRequestReused", err)
	}
}
