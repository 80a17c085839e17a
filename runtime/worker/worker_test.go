package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// full is a jitter that adds nothing random.
func full() float64 { return 1 }

func TestAWorkerRunsDueThreadsOfSeveralGraphs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", ids("order", 20)...)
		submit(t, s, "mails", ids("mail", 20)...)
		submit(t, s, "unknown", ids("unknown", 20)...)
		w := start(t, s, worker.Options{Slots: 4}, line(t, "orders", s, say("order"), say("paid")), line(t, "mails", s, say("mail")))
		synctest.Wait()
		for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			want := graph.Done
			if th.Graph == "unknown" {
				want = graph.Ready
			}
			if err != nil || th.Status != want {
				t.Errorf("got the thread %s of %s %s, %v; want it %s", th.ID, th.Graph, th.Status, err, want)
			}
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if got := len(w.of(worker.EventEnded)); got != 40 {
			t.Errorf("got %d ended runs, want 40", got)
		}
	})
}

// counting counts the calls of Ready.
type counting struct {
	*memory.Saver
	calls atomic.Int64
}

func (c *counting) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	c.calls.Add(1)
	return c.Saver.Ready(ctx, q)
}

func TestAWeekOnTheMemorySaverTakesNoPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counting{Saver: memory.New()}
		g := line(t, "orders", s, say("a"))
		w := start(t, s, worker.Options{}, g)
		time.Sleep(7 * 24 * time.Hour)
		submit(t, s.Saver, "orders", "t")
		synctest.Wait()
		if th := listed(t, s, "t"); th.Status != graph.Done {
			t.Errorf("got the thread %s, want it done at once", th.Status)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if got := s.calls.Load(); got > 10 {
			t.Errorf("got %d calls of Ready, want only those after writes", got)
		}
	})
}

// quiet hides that the memory saver announces due threads.
type quiet struct{ checkpoint.Saver }

func TestAWorkerPollsASaverThatAnnouncesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quiet{memory.New()}
		w := start(t, s, worker.Options{Poll: time.Minute}, line(t, "orders", s, say("a")))
		time.Sleep(time.Hour)
		submit(t, s, "orders", "t")
		time.Sleep(90 * time.Second)
		if th := listed(t, s, "t"); th.Status != graph.Done {
			t.Errorf("got the thread %s, want it done", th.Status)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAHintOfAnEngineSavesThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, hub := quiet{memory.New()}, new(worker.Hub)
		w := start(t, s, worker.Options{Poll: 24 * time.Hour, Engine: hub}, line(t, "orders", s, say("a")))
		time.Sleep(time.Hour)
		submit(t, s, "orders", "t")
		for _, name := range []string{"other", "orders", "orders"} {
			if err := hub.Wake(t.Context(), name, "t"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if th := listed(t, s, "t"); th.Status != graph.Done {
			t.Errorf("got the thread %s, want it done", th.Status)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAPoisonThreadEndsAfterItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ran := memory.New(), new(counter)
		submit(t, s, "orders", "poison")
		g := line(t, "orders", s, func(context.Context, Job) (JobUpdate, error) { ran.Add("n0"); return JobUpdate{}, errBroken })
		w := start(t, s, worker.Options{Retry: graph.RetryPolicy{Attempts: 4, Jitter: full}}, g)
		begin := time.Now()
		time.Sleep(24 * time.Hour)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		ended := w.of(worker.EventEnded)
		if len(ended) != 4 || ran.Total() != 4 {
			t.Fatalf("got %d runs and %d executions, want 4", len(ended), ran.Total())
		}
		for i, pause := range []time.Duration{time.Second, 3 * time.Second, 7 * time.Second} {
			if got := ended[i].Wake.Sub(begin); got != pause || ended[i].Attempts != i+1 {
				t.Errorf("run %d: got attempt %d and the next after %s, want attempt %d and %s", i+1, ended[i].Attempts, got, i+1, pause)
			}
		}
		if last := ended[3]; !last.Wake.IsZero() || last.Status != graph.Failed {
			t.Errorf("got the last run %s with the wake %v, want it failed and no wake", last.Status, last.Wake)
		}
		for i, e := range w.of(worker.EventClaimed) {
			if e.Attempts != i {
				t.Errorf("run %d: got %d failed attempts before it, want %d", i+1, e.Attempts, i)
			}
		}
		if th := listed(t, s, "poison"); th.Status != graph.Failed || !th.Wake.IsZero() {
			t.Errorf("got the thread %s with the wake %v, want it failed, kept and not due", th.Status, th.Wake)
		} else if th.FailedAttempts() != ended[3].Attempts || th.Retries() {
			t.Errorf("got a thread with %d failed attempts, want what the event of the last run says, and no retry", th.FailedAttempts())
		}
	})
}

func TestACrashLoopWithProgressNeverEndsAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", "t")
		var nodes []node
		failed := new(counter)
		for i := range 30 { // each node fails once
			nodes = append(nodes, func(context.Context, Job) (JobUpdate, error) {
				if failed.Add(fmt.Sprint(i)) == 1 {
					return JobUpdate{}, errBroken
				}
				return said("x"), nil
			})
		}
		w := start(t, s, worker.Options{Retry: graph.RetryPolicy{Attempts: 2}}, line(t, "orders", s, nodes...))
		time.Sleep(time.Hour)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if th := listed(t, s, "t"); th.Status != graph.Done {
			t.Errorf("got the thread %s after %d runs, want it done", th.Status, len(w.of(worker.EventEnded)))
		}
		if got := len(w.of(worker.EventEnded)); got != 31 {
			t.Errorf("got %d runs, want 31", got)
		}
	})
}

// dying is a saver whose process dies before it can store the end of a run.
type dying struct{ checkpoint.Saver }

func (dying) PutWrites(context.Context, checkpoint.PutWrites) (checkpoint.PutResult, error) {
	return checkpoint.PutResult{}, errBroken
}

func TestAClaimSaysHowTheLastRunEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", "stopped")
		fail := func(context.Context, Job) (JobUpdate, error) { return JobUpdate{}, errBroken }
		if _, err := line(t, "orders", dying{s}, fail).Thread("died").Invoke(t.Context(), JobUpdate{}); err == nil {
			t.Fatal("the run has ended well")
		}
		w := start(t, s, worker.Options{}, line(t, "orders", s, say("done")))
		time.Sleep(time.Minute)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		got := make(map[string]graph.Status)
		for _, e := range w.of(worker.EventClaimed) {
			got[e.Thread] = e.Status
		}
		if got["died"] != graph.Running || got["stopped"] != graph.Ready || len(got) != 2 {
			t.Errorf("got the claims %v, want died running and stopped ready", got)
		}
	})
}

func TestAShutdownCostsNoAttempt(t *testing.T) {
	for name, wait := range map[string]time.Duration{"drained": time.Second, "cancelled": 15 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				submit(t, s, "orders", ids("t", 8)...)
				slow := func(ctx context.Context, _ Job) (JobUpdate, error) {
					select {
					case <-time.After(wait):
						return said("slow"), nil
					case <-ctx.Done():
						return JobUpdate{}, errBroken // of a library that hides why it was interrupted
					}
				}
				w := start(t, s, worker.Options{Slots: 4}, line(t, "orders", s, slow, say("next")))
				synctest.Wait()
				if err := w.stop(); err != nil {
					t.Fatal(err)
				}
				got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"orders"}, Limit: 10})
				if err != nil || len(got.Threads) != 8 {
					t.Fatalf("got %d due threads, %v; want all 8 immediately", len(got.Threads), err)
				}
				for _, th := range got.Threads {
					if th.Attempts != 0 || th.Status != graph.Ready {
						t.Errorf("got the thread %s %s with %d attempts, want it ready with none", th.ID, th.Status, th.Attempts)
					}
				}
				next := start(t, s, worker.Options{}, line(t, "orders", s, say("slow"), say("next")))
				time.Sleep(time.Minute)
				if err := next.stop(); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids("t", 8) {
					if th := listed(t, s, id); th.Status != graph.Done {
						t.Errorf("got the thread %s %s, want it done by the next worker", id, th.Status)
					}
				}
			})
		})
	}
}

func TestARunThatIgnoresItsContextLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", "stuck")
		release := make(chan struct{})
		defer close(release)
		g := line(t, "orders", s, func(context.Context, Job) (JobUpdate, error) { <-release; return said("late"), nil })
		w := start(t, s, worker.Options{}, g)
		synctest.Wait()
		begin := time.Now()
		err := w.stop()
		if err == nil || !strings.Contains(err.Error(), `["stuck"]`) {
			t.Errorf("got %v, want an error that names the thread", err)
		}
		if got := time.Since(begin); got != 20*time.Second {
			t.Errorf("Run returned after %s, want both phases, 20s", got)
		}
		if got := w.of(worker.EventReleased); len(got) != 1 || got[0].Err != nil {
			t.Errorf("got the released leases %v, want one", got)
		}
		next := start(t, s, worker.Options{}, line(t, "orders", s, say("taken over")))
		synctest.Wait()
		if th := listed(t, s, "stuck"); th.Status != graph.Done {
			t.Errorf("got the thread %s, want it done by the next worker", th.Status)
		}
		if err := next.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAThreadOfAChangedGraphIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quiet{memory.New()}
		submit(t, s, "orders", ids("old", 50)...)
		b := graph.New("orders", JobSchema)
		b.Node("renamed", say("x"))
		b.Edge(graph.Start, "renamed")
		b.Edge("renamed", graph.End)
		changed, err := b.Compile(graph.Saver(s))
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, s, worker.Options{Slots: 2}, changed)
		time.Sleep(time.Minute)
		left := w.of(worker.EventLeft)
		if len(left) != 50 || !errors.Is(left[0].Err, graph.ErrGraphChanged) {
			t.Fatalf("got %d threads left, want each of the 50 once, with ErrGraphChanged", len(left))
		}
		next := start(t, s, worker.Options{}, line(t, "orders", s, say("a")))
		time.Sleep(5 * time.Second)
		for _, id := range ids("old", 50) {
			if th := listed(t, s, id); th.Status != graph.Done {
				t.Fatalf("got the thread %s %s, want it done by the worker that can read it", id, th.Status)
			}
		}
		for _, each := range []*started{w, next} {
			if err := each.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestThreadsOfUnknownGraphsBlockNobody(t *testing.T) {
	n := 10000
	if testing.Short() {
		n = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", ids("a", n)...)
		g := line(t, "mails", s, say("mail"))
		submit(t, s, "mails", "z")
		w := start(t, s, worker.Options{Slots: 2}, g)
		synctest.Wait()
		if th := listed(t, s, "z"); th.Status != graph.Done {
			t.Errorf("got the thread %s, want it done", th.Status)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if got := len(w.of(worker.EventClaimed)) + len(w.of(worker.EventLeft)); got != 1 {
			t.Errorf("looked at %d threads, want 1", got)
		}
	})
}

func TestTheThreadOfAnotherHolderIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &racing{Saver: memory.New()}
		submit(t, s, "orders", "t")
		s.other = line(t, "orders", s.Saver, func(context.Context, Job) (JobUpdate, error) { time.Sleep(time.Hour); return said("other"), nil })
		w := start(t, s, worker.Options{}, line(t, "orders", s, say("mine")))
		time.Sleep(2 * time.Second)
		refused := w.of(worker.EventRefused)
		var busy *checkpoint.BusyError
		if len(refused) != 1 || !errors.As(refused[0].Err, &busy) {
			t.Errorf("got the refusals %v, want one with a BusyError", refused)
		}
		time.Sleep(2 * time.Hour)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if th := listed(t, s, "t"); th.Status != graph.Done || len(w.of(worker.EventClaimed)) != 0 {
			t.Errorf("got the thread %s and %d claims, want it done by the other", th.Status, len(w.of(worker.EventClaimed)))
		}
	})
}

// racing lets a person take the thread right after Ready returned it.
type racing struct {
	*memory.Saver
	other *app
}

func (r *racing) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := r.Saver.Ready(ctx, q)
	for range got.Threads {
		if r.other != nil {
			go func(g *app) { _, _ = g.Thread("t").Resume(context.Background()) }(r.other)
			r.other = nil
			time.Sleep(time.Second)
		}
	}
	return got, err
}

func TestAWorkerSurvivesAnUnavailableSaver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flaky{Saver: memory.New()}
		s.fail.Store(true)
		hub := new(worker.Hub)
		w := start(t, s, worker.Options{Engine: hub}, line(t, "orders", s, say("a")))
		time.Sleep(time.Minute)
		if got := len(w.of(worker.EventSaverFailed)); got < 5 || got > 60 {
			t.Errorf("got %d failed calls in a minute, want a backoff", got)
		}
		if code := probe(w.Worker.Ready()); code != 503 {
			t.Errorf("without a saver: got readiness %d, want 503", code)
		}
		s.fail.Store(false)
		submit(t, s.Saver, "orders", "t")
		time.Sleep(10 * time.Second)
		if th := listed(t, s, "t"); th.Status != graph.Done {
			t.Errorf("got the thread %s, want it done", th.Status)
		}
		if code := probe(w.Worker.Ready()); code != 200 {
			t.Errorf("with a saver: got readiness %d, want 200", code)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := hub.Wake(t.Context(), "orders", "t"); err != nil {
			t.Fatal(err)
		}
		if err := <-w.ended; !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("got %v from a closed saver, want ErrClosed", err)
		}
		if code := probe(w.Live()); code != 503 {
			t.Errorf("after Run: got liveness %d, want 503", code)
		}
	})
}

// flaky makes Ready fail while fail is set.
type flaky struct {
	*memory.Saver
	fail atomic.Bool
}

func (f *flaky) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if f.fail.Load() {
		return checkpoint.ReadyThreads{}, checkpoint.ErrUnavailable
	}
	return f.Saver.Ready(ctx, q)
}

func TestWrongOptionsAreErrorsOfRun(t *testing.T) {
	s := memory.New()
	g := line(t, "orders", s, say("a"))
	for want, w := range map[string]*worker.Worker{
		"no saver":               worker.New(nil, worker.Options{}, g),
		"no graphs":              worker.New(s, worker.Options{}),
		"no saver; pass":         worker.New((*memory.Saver)(nil), worker.Options{}, g),
		"a graph is nil":         worker.New(s, worker.Options{}, g, nil),
		"a graph is nil; pass":   worker.New(s, worker.Options{}, (*graph.Graph[Job, JobUpdate])(nil)),
		"Slots is -1":            worker.New(s, worker.Options{Slots: -1}, g),
		"Poll is -1s":            worker.New(s, worker.Options{Poll: -time.Second}, g),
		"another saver":          worker.New(memory.New(), worker.Options{}, g),
		"two graphs serve":       worker.New(s, worker.Options{}, g, g),
		`names graph "x"`:        worker.New(s, worker.Options{Limits: []worker.Limit{{Graph: "x", Max: 1}}}, g),
		"want at least 1":        worker.New(s, worker.Options{Limits: []worker.Limit{{Graph: "orders"}}}, g),
		"has two limits":         worker.New(s, worker.Options{Limits: []worker.Limit{{Graph: "orders", Max: 1}, {Graph: "orders", Max: 1}}}, g),
		"the graph has no saver": worker.New(s, worker.Options{}, lineOf(t, "orders", []node{say("a")})),
	} {
		if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestARefusedMessageIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		a := line(t, "orders", s, say("a"))
		w := start(t, s, worker.Options{}, a)
		if _, err := a.Thread("t").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.of(worker.EventMessageRefused); len(got) != 0 {
			t.Errorf("got the events %v, want none", got)
		}
		if err := a.Thread("t").Cancel(t.Context(), "too late"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		const want = "message 2 is refused: the thread had no unfinished work before the cancel"
		if got := w.of(worker.EventMessageRefused); len(got) != 1 || got[0].Thread != "t" || got[0].Graph != "orders" || fmt.Sprint(got[0].Err) != want {
			t.Errorf("got the events %v, want one of the thread t: %s", got, want)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAPanicOfOnEventEndsTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "orders", "t")
		w := worker.New(s, worker.Options{OnEvent: func(e worker.Event) {
			if e.Kind == worker.EventClaimed {
				panic("mine")
			}
		}}, line(t, "orders", s, say("a")))
		if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"claimed": mine`) {
			t.Errorf("got %v, want the panic", err)
		}
		if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("a second Run: got %v, want an error", err)
		}
	})
}

// choked is a saver whose Ready fails if it returns messages.
type choked struct {
	checkpoint.Saver
	asked atomic.Int64 // the calls that failed
}

func (s *choked) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if q.Mail > 0 {
		s.asked.Add(1)
		return checkpoint.ReadyThreads{}, checkpoint.ErrUnavailable
	}
	return s.Saver.Ready(ctx, q)
}

// TestAWorkerFindsThreadsWithoutTheirMessages: messages that are too large for one call of Ready
// do not keep threads from a worker.
func TestAWorkerFindsThreadsWithoutTheirMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &choked{Saver: memory.New()}
		g := line(t, "g", s, say("ran"))
		if _, err := g.Thread("t").Submit(t.Context(), JobUpdate{}); err != nil {
			t.Fatal(err)
		}
		start(t, s, worker.Options{}, g)
		time.Sleep(time.Minute)
		if got := listed(t, s, "t").Status; got != graph.Done || s.asked.Load() == 0 {
			t.Errorf("got %s after %d calls that ask for messages, want %s", got, s.asked.Load(), graph.Done)
		}
	})
}
