package worker_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/internal/intercept"
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
	got, _, err := worker.Paused(tb.Context(), s)
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
	dir := t.TempDir()
	files, err := file.Open(dir)
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
	again, err := file.Open(dir) // as after a restart
	if err != nil {
		t.Fatal(err)
	}
	wantPaused(t, again, "a", "b", "c")
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestAPauseThatIsStoredLateDoesNotOutliveItsEnd loses the connection during each Append of a
// Pause. The server stores that Append after a Resume. The caller repeats the Pause, or does not.
func TestAPauseThatIsStoredLateDoesNotOutliveItsEnd(t *testing.T) {
	lost := errors.New("the connection is lost")
	for _, repeats := range []bool{false, true} {
		for n := 1; ; n++ {
			var late func(context.Context) error
			appends := 0
			s := &intercept.Saver{Saver: memory.New(), By: func(ctx context.Context, op, _ string, do func(context.Context) error) error {
				if op == "append" {
					appends++
				}
				if op == "append" && appends == n {
					late = do
					return lost
				}
				return do(ctx)
			}}
			err := worker.Pause(t.Context(), s, "orders")
			if late == nil && n > 1 { // a Pause has fewer
				break
			}
			if !errors.Is(err, lost) {
				t.Fatalf("append %d: got %v, want the error of the connection", n, err)
			}
			if repeats {
				if err := worker.Pause(t.Context(), s, "orders"); err != nil {
					t.Fatal(err)
				}
				wantPaused(t, s, "orders")
			}
			if err := worker.Resume(t.Context(), s, "orders"); err != nil {
				t.Fatal(err)
			}
			err = late(t.Context())
			t.Logf("append %d, repeated: %t: %v", n, repeats, err)
			wantPaused(t, s)
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

// TestNoWorkerBeginsATaskOfAPausedQueue pauses the queue or its graph while a task is in progress.
// One worker serves the threads and the queue, and another one serves only the queue.
func TestNoWorkerBeginsATaskOfAPausedQueue(t *testing.T) {
	for name, c := range map[string]struct {
		pause, resume func(context.Context, checkpoint.Saver, string) error
		of            string
		after         graph.Status // of a thread that is submitted during the pause
	}{
		"queue": {worker.PauseQueue, worker.ResumeQueue, "gpu", graph.Waiting},
		"graph": {worker.Pause, worker.Resume, "chain", graph.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := quiet{memory.New()}
				var begun atomic.Int32
				g := chain(t, s, 3, func(context.Context, Job) (JobUpdate, error) {
					begun.Add(1)
					time.Sleep(10 * time.Second)
					return said("n"), nil
				}, graph.Queue("gpu"))
				queues := map[string]int{"gpu": 2}
				both := start(t, s, worker.Options{Queues: queues}, g)
				tasks := start(t, s, worker.Options{Queues: queues, QueuesOnly: true}, g)
				time.Sleep(2 * time.Second)
				send := func(id string) {
					if _, err := g.Thread(id).Submit(t.Context(), said("in")); err != nil {
						t.Fatal(err)
					}
				}
				send("before")
				time.Sleep(5 * time.Second)
				if err := c.pause(t.Context(), s, c.of); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				send("after")
				time.Sleep(time.Hour)
				snap, err := g.Thread("before").State(t.Context())
				if err != nil || begun.Load() != 1 || len(snap.State.Log)+len(finishedOf(&snap)) < 2 {
					t.Errorf("got %d tasks begun, the log %q and %v; want the task in progress finished, and no other one", begun.Load(), snap.State.Log, err)
				}
				wantStatus(t, s, "after", c.after)
				if err := c.resume(t.Context(), s, c.of); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Minute)
				wantStatus(t, s, "before", graph.Done)
				wantStatus(t, s, "after", graph.Done)
				for _, w := range []*started{both, tasks} {
					if err := w.stop(); err != nil {
						t.Error(err)
					}
					p, r := w.of(worker.EventPaused), w.of(worker.EventResumed)
					if len(p) != 1 || len(r) != 1 || p[0].Queue+p[0].Graph != c.of || r[0].Queue+r[0].Graph != c.of {
						t.Errorf("got the events %v and %v; want one of each, about %s", p, r, c.of)
					}
				}
			})
		})
	}
}

// finishedOf returns the tasks that have finished and are not committed.
func finishedOf(snap *graph.Snapshot[Job]) []graph.TaskState {
	return slices.DeleteFunc(slices.Clone(snap.Tasks), func(t graph.TaskState) bool { return !t.Finished })
}

func TestAReservedGraphIsNotPaused(t *testing.T) {
	s := memory.New()
	for _, call := range []func(context.Context, checkpoint.Saver, string) error{worker.Pause, worker.Resume} {
		if err := call(t.Context(), s, "__queue/gpu"); !errors.As(err, new(*checkpoint.InvalidError)) {
			t.Errorf("got %v, want an InvalidError", err)
		}
	}
	if graphs, queues, err := worker.Paused(t.Context(), s); len(graphs)+len(queues) > 0 || err != nil {
		t.Errorf("got paused %q and %q, %v; want none", graphs, queues, err)
	}
}
