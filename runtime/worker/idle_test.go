package worker_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// endingReady lets a run end during the look that leaves its thread out.
type endingReady struct {
	checkpoint.Saver
	release chan struct{}

	mu    sync.Mutex
	over  bool // the run has ended
	looks int  // the calls that began after that
}

func (s *endingReady) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	s.mu.Lock()
	first := len(q.Except) > 0 && !s.over
	s.over = s.over || first
	if s.over && !first {
		s.looks++
	}
	s.mu.Unlock()
	got, err := s.Saver.Ready(ctx, q)
	if first {
		close(s.release)
		synctest.Wait() // until the run has ended
	}
	return got, err
}

// TestIdleComesAfterALookAtAllThreads ends a run between a look that left its thread out and the
// end of that look. Such a look cannot say that nothing is due.
func TestIdleComesAfterALookAtAllThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &endingReady{Saver: memory.New(), release: make(chan struct{})}
		app := line(t, "g", s, func(context.Context, Job) (u JobUpdate, err error) {
			<-s.release
			return u, nil
		})
		if _, err := app.Thread("t").Submit(t.Context(), JobUpdate{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		idle := make(chan int, 10)
		w := worker.New(s, worker.Options{Poll: time.Second, OnEvent: func(e worker.Event) {
			if e.Kind == worker.EventIdle {
				s.mu.Lock()
				idle <- s.looks
				s.mu.Unlock()
			}
		}}, app)
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		if looks := <-idle; looks == 0 {
			t.Error("the worker says that nothing is due, and has not looked since its run ended")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
