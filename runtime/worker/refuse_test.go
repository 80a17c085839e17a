package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var errRefused = errors.New("not in this region")

// refusing returns an interceptor that refuses the runs of workers until allowed is true.
func refusing(allowed *atomic.Bool, calls *atomic.Int64) graph.Option {
	return graph.Intercept(graph.Interceptor{
		Run: func(ctx context.Context, r graph.RunInfo, next func(context.Context) (graph.Status, error)) error {
			if calls.Add(1); r.Worker && !allowed.Load() {
				return errRefused
			}
			_, err := next(ctx)
			return err
		},
	})
}

// A worker leaves a thread whose Run is refused. The thread costs no attempt and stays due. The
// worker looks at it again after 5 minutes, and another worker may run it before that. This is
// rule 24.8.
func TestAWorkerLeavesAThreadThatAnInterceptorRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var allowed atomic.Bool
		var calls atomic.Int64
		g := lineOf(t, "orders", []node{say("run")}, graph.Saver(s), refusing(&allowed, &calls))
		submit(t, s, "orders", "order")
		w := start(t, s, worker.Options{}, g)
		time.Sleep(4 * time.Minute)
		if got := calls.Load(); got != 1 {
			t.Errorf("the worker tried %d times in 4 minutes, want once", got)
		}
		left := w.of(worker.EventLeft)
		if len(left) != 1 || left[0].Thread != "order" || !errors.Is(left[0].Err, errRefused) {
			t.Errorf("got the events %+v, want one with the refusal", left)
		}
		if th := listed(t, s, "order"); th.Status != graph.Ready || th.Attempts != 0 || th.Wake.IsZero() {
			t.Errorf("got the thread %s with %d attempts, due at %s; want it ready, without attempts, and due", th.Status, th.Attempts, th.Wake)
		}
		if n := len(w.of(worker.EventEnded)) + len(w.of(worker.EventClaimed)); n != 0 {
			t.Errorf("got %d events of a run", n)
		}
		allowed.Store(true)
		time.Sleep(2 * time.Minute)
		wantStatus(t, s, "order", graph.Done)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A thread that one worker refuses is run by another one.
func TestAnotherWorkerRunsARefusedThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var allowed atomic.Bool
		var calls atomic.Int64
		submit(t, s, "orders", "order")
		strict := start(t, s, worker.Options{}, lineOf(t, "orders", []node{say("run")}, graph.Saver(s), refusing(&allowed, &calls)))
		time.Sleep(10 * time.Second)
		other := start(t, s, worker.Options{}, line(t, "orders", s, say("run")))
		time.Sleep(30 * time.Second)
		wantStatus(t, s, "order", graph.Done)
		if n := len(strict.of(worker.EventLeft)); n != 1 {
			t.Errorf("got %d refusals", n)
		}
		for _, w := range []*started{strict, other} {
			if err := w.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// An error of Run after the run is stored is the error of the event, and changes nothing stored.
func TestAnErrorOfRunAfterARunOfAWorkerIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", "order")
		g := lineOf(t, "orders", []node{say("run")}, graph.Saver(s), graph.Intercept(graph.Interceptor{
			Run: func(ctx context.Context, _ graph.RunInfo, next func(context.Context) (graph.Status, error)) error {
				_, err := next(ctx)
				return errors.Join(err, errRefused)
			},
		}))
		w := start(t, s, worker.Options{}, g)
		time.Sleep(time.Minute)
		ended := w.of(worker.EventEnded)
		if len(ended) != 1 || !errors.Is(ended[0].Err, errRefused) || ended[0].Status != graph.Done || ended[0].Attempts != 0 {
			t.Errorf("got the events %+v, want one end with the error", ended)
		}
		wantStatus(t, s, "order", graph.Done)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}
