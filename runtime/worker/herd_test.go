package worker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// looked counts the looks of workers, and their questions for messages.
type looked struct {
	checkpoint.Saver
	ready, news atomic.Int64
}

func (l *looked) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	l.ready.Add(1)
	return l.Saver.Ready(ctx, q)
}

func (l *looked) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	l.news.Add(1)
	return l.Saver.News(ctx, threads)
}

const herd = 10_000

// send sends a herd of hints from several goroutines, which share the threads: all now, or over a
// second.
func send(t *testing.T, hub *worker.Hub, threads []string, now bool) {
	t.Helper()
	var all sync.WaitGroup
	const senders = 10
	for n := range senders {
		all.Go(func() {
			for i := range herd / senders {
				if !now {
					time.Sleep(time.Second / (herd / senders))
				}
				if err := hub.Wake(t.Context(), "orders", threads[(n+i*senders)%len(threads)]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	synctest.Wait()
}

// A worker looks a few times for a herd of hints, and the thread that became due last is found.
func TestAHerdOfHintsCausesFewLooks(t *testing.T) {
	for name, threads := range map[string][]string{"one thread": {"none"}, "many threads": ids("none", herd)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, hub, ran := &looked{Saver: quiet{memory.New()}}, new(worker.Hub), new(counter)
				g := line(t, "orders", s, func(context.Context, Job) (JobUpdate, error) { ran.Add("n0"); return JobUpdate{}, nil })
				w := start(t, s, worker.Options{Engine: hub, Poll: 24 * time.Hour}, g)
				time.Sleep(time.Hour)
				for round := range 2 {
					before := s.ready.Load()
					send(t, hub, threads, round > 0)
					t.Log(s.ready.Load()-before, "looks")
					if got := s.ready.Load() - before; got > 100 {
						t.Errorf("got %d looks for %d hints, want at most 100", got, herd)
					}
					submit(t, s, "orders", "due")
					began := time.Now()
					send(t, hub, []string{"due"}, true)
					for ran.Of("n0") == round {
						time.Sleep(time.Millisecond)
						synctest.Wait()
					}
					if took := time.Since(began); took > 100*time.Millisecond {
						t.Errorf("a due thread ran %s after its hints, want at most 100 ms", took)
					}
					if got := s.ready.Load() - before; got > 200 {
						t.Errorf("got %d looks for %d hints, want at most 200", got, 2*herd)
					}
				}
				if err := w.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A herd of hints of a thread that a worker runs makes it ask for messages a few times.
func TestAHerdOfHintsOfAHeldThreadCausesFewQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, hub := &looked{Saver: quiet{memory.New()}}, new(worker.Hub)
		submit(t, s, "orders", "t")
		w := start(t, s, worker.Options{Engine: hub, Poll: 24 * time.Hour}, line(t, "orders", s, hang))
		synctest.Wait()
		time.Sleep(time.Second / 2)
		before := s.ready.Load()
		send(t, hub, []string{"t"}, true)
		send(t, hub, []string{"t"}, false)
		if looks, questions := s.ready.Load()-before, s.news.Load(); looks > 100 || questions > 100 {
			t.Errorf("got %d looks and %d questions for %d hints, want at most 100", looks, questions, 2*herd)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}
