package worker_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func probe(h http.Handler) int {
	out := httptest.NewRecorder()
	h.ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/", nil))
	return out.Code
}

// slowWrites makes every write of a run hang while slow is set.
type slowWrites struct {
	checkpoint.Saver
	slow atomic.Bool
}

func (s *slowWrites) hang(ctx context.Context) error {
	if s.slow.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s *slowWrites) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if err := s.hang(ctx); err != nil {
		return checkpoint.AppendResult{}, err
	}
	return s.Saver.Append(ctx, a)
}

func (s *slowWrites) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if err := s.hang(ctx); err != nil {
		return checkpoint.PutResult{}, err
	}
	return s.Saver.PutWrites(ctx, w)
}

// TestAllLeasesRunOutWithTheirHoldersAlive: two workers hold threads when the saver becomes so
// slow that all leases run out. They claim nothing meanwhile, so nothing is taken over.
func TestAllLeasesRunOutWithTheirHoldersAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ran := &slowWrites{Saver: memory.New()}, new(counter)
		all := ids("t", 20)
		submit(t, s, "orders", all...)
		nodes := []node{func(ctx context.Context, _ Job) (JobUpdate, error) {
			ran.Add(graph.CurrentTask(ctx).Thread)
			time.Sleep(2 * time.Minute)
			return said("a"), nil
		}}
		var workers []*started
		for range 2 {
			workers = append(workers, start(t, s, worker.Options{Slots: 15}, line(t, "orders", s, nodes...)))
		}
		time.Sleep(time.Second) // a worker that lost threads to the other one looks again soon
		if got := ran.Total(); got != 20 {
			t.Fatalf("got %d runs, want all 20, and free slots", got)
		}
		s.slow.Store(true)
		time.Sleep(time.Minute) // all leases have run out
		s.slow.Store(false)
		time.Sleep(20 * time.Second)
		for _, w := range workers {
			if got := len(w.of(worker.EventLate)); got == 0 {
				t.Error("a worker has not reported that its renewals are late")
			}
			if got := len(w.of(worker.EventOnTime)); got == 0 {
				t.Error("a worker has not reported that its renewals are on time again")
			}
		}
		time.Sleep(time.Hour)
		for _, id := range all {
			if th := listed(t, s, id); th.Status != graph.Done {
				t.Errorf("got the thread %s %s, want it done", id, th.Status)
			}
			if got := ran.Of(id); got != 1 {
				t.Errorf("the node of %s ran %d times, want once", id, got)
			}
		}
		for _, w := range workers {
			if err := w.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestReadinessEndsWithTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", "t")
		w := worker.New(s, worker.Options{}, line(t, "orders", s, func(context.Context, Job) (JobUpdate, error) {
			time.Sleep(5 * time.Second)
			return said("a"), nil
		}))
		if code := probe(w.Ready()); code != http.StatusServiceUnavailable {
			t.Errorf("before Run: got readiness %d, want 503", code)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		if ready, live := probe(w.Ready()), probe(w.Live()); ready != http.StatusOK || live != http.StatusOK {
			t.Errorf("while it runs: got readiness %d and liveness %d, want 200", ready, live)
		}
		cancel()
		synctest.Wait()
		if ready, live := probe(w.Ready()), probe(w.Live()); ready != http.StatusServiceUnavailable || live != http.StatusOK {
			t.Errorf("while it drains: got readiness %d and liveness %d, want 503 and 200", ready, live)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if th := listed(t, s, "t"); th.Status != graph.Done {
			t.Errorf("got the thread %s, want it done within the drain", th.Status)
		}
	})
}
