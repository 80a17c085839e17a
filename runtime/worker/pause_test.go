package worker_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/runtime/worker/workertest"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// hangFor is a node that takes the given time.
func hangFor(took time.Duration) node {
	return func(ctx context.Context, _ Job) (JobUpdate, error) {
		select {
		case <-time.After(took):
			return said("slow"), nil
		case <-ctx.Done():
			return JobUpdate{}, ctx.Err()
		}
	}
}

// wantPaused checks which graphs are paused.
func wantPaused(tb testing.TB, s checkpoint.Saver, want ...string) {
	tb.Helper()
	got, err := worker.Paused(tb.Context(), s)
	if err != nil || !slices.Equal(got, want) {
		tb.Errorf("got the paused graphs %q, %v; want %q", got, err, want)
	}
}

func TestNoWorkerTakesThreadsOfAPausedGraph(t *testing.T) {
	for name, wrap := range map[string]func(*memory.Saver) checkpoint.Saver{
		"polling":    func(m *memory.Saver) checkpoint.Saver { return quiet{m} },
		"announcing": func(m *memory.Saver) checkpoint.Saver { return m },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := wrap(memory.New())
				submit(t, s, "orders", "before")
				slow := func() *app { return line(t, "orders", s, hangFor(10*time.Second)) }
				var workers []*started
				for range 3 {
					workers = append(workers, start(t, s, worker.Options{}, slow(), line(t, "mails", s, say("mail"))))
				}
				time.Sleep(2 * time.Second)
				for range 2 {
					if err := worker.Pause(t.Context(), s, "orders"); err != nil {
						t.Fatal(err)
					}
				}
				wantPaused(t, s, "orders")
				time.Sleep(2 * time.Second)
				submit(t, s, "orders", "order")
				submit(t, s, "mails", "mail")
				time.Sleep(time.Hour)
				workers = append(workers, start(t, s, worker.Options{}, slow())) // the pause is stored
				time.Sleep(time.Hour)
				wantStatus(t, s, "before", graph.Done)
				wantStatus(t, s, "order", graph.Ready)
				wantStatus(t, s, "mail", graph.Done)
				for range 2 {
					if err := worker.Resume(t.Context(), s, "orders"); err != nil {
						t.Fatal(err)
					}
				}
				wantPaused(t, s)
				time.Sleep(15 * time.Second)
				wantStatus(t, s, "order", graph.Done)
				for _, w := range workers {
					if err := w.stop(); err != nil {
						t.Error(err)
					}
					if p, r := len(w.of(worker.EventPaused)), len(w.of(worker.EventResumed)); p != 1 || r != 1 {
						t.Errorf("got %d events of the pause and %d of its end, want one of each", p, r)
					}
				}
			})
		})
	}
}

func TestAPauseIsStoredInEachSaver(t *testing.T) {
	files, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]checkpoint.Saver{"file": files, "memory": memory.New()} {
		for _, g := range []string{"b", "a", "b", "c"} {
			if err := worker.Pause(t.Context(), s, g); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		wantPaused(t, s, "a", "b", "c")
		for _, g := range []string{"b", "none"} {
			if err := worker.Resume(t.Context(), s, g); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		wantPaused(t, s, "a", "c")
		if err := worker.Pause(t.Context(), s, "b"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantPaused(t, s, "a", "b", "c")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// worn lists a damaged thread first.
type worn struct{ *memory.Saver }

func (w *worn) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		if yield(checkpoint.Thread{ID: "broken"}, checkpoint.ErrDamaged) {
			w.Saver.Threads(ctx, q)(yield)
		}
	}
}

func TestADamagedThreadDoesNotHideAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &worn{memory.New()}
		if err := worker.Pause(t.Context(), s, "orders"); err != nil {
			t.Fatal(err)
		}
		wantPaused(t, s, "orders")
		g := line(t, "mails", s, say("a"))
		if _, err := g.Thread("t").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		w := start(t, s, worker.Options{}, g, line(t, "orders", s, say("b")))
		synctest.Wait()
		if got := len(w.of(worker.EventEnded)); got != 1 {
			t.Errorf("got %d runs of a graph that is not paused, want 1", got)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAWorkerIsIdleIfAllItsGraphsArePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", "t")
		if err := worker.Pause(t.Context(), s, "orders"); err != nil {
			t.Fatal(err)
		}
		workertest.RunUntilIdle(t, s, worker.Options{}, line(t, "orders", s, say("a")))
		wantStatus(t, s, "t", graph.Ready)
	})
}
