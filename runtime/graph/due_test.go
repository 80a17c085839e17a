package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// threeTries is a policy of worker runs without a random part.
var threeTries = graph.RetryPolicy{Attempts: 3, Base: time.Second, Max: time.Minute, Jitter: whole}

// ready returns the due threads of graph "g" without a reservation.
func ready(t *testing.T, s checkpoint.Saver) []checkpoint.ReadyThread {
	t.Helper()
	got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return got.Threads
}

// listed returns the thread "t" as the saver lists it.
func listed(t *testing.T, s checkpoint.Saver) checkpoint.Thread {
	t.Helper()
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		return th
	}
	t.Fatal("no thread")
	return checkpoint.Thread{}
}

// dueThread stores thread "t" of the graph, with the node a due now.
func dueThread(t *testing.T, s checkpoint.Saver, b *graph.Builder[work, update]) {
	t.Helper()
	th := compile(t, b, graph.Saver(s), graph.InterruptBefore("a"), graph.HotThreads(0)).Thread("t")
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.UpdateState(t.Context(), update{}, graph.Goto(graph.To("a"))); err != nil {
		t.Fatal(err)
	}
	wakeNow(t, s)
}

// wakeNow makes thread "t" due.
func wakeNow(t *testing.T, s checkpoint.Saver) {
	t.Helper()
	err := s.Rewake(t.Context(), checkpoint.Rewake{Thread: "t", Fence: checkpoint.ID{1}})
	var conflict *checkpoint.ConflictError // it names the fence
	if !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	if err := s.Rewake(t.Context(), checkpoint.Rewake{Thread: "t", Fence: conflict.Found, Wake: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
}

// resumeDue resumes the only due thread.
func resumeDue(t *testing.T, g *app, s checkpoint.Saver, o graph.DueOptions) (graph.DueRun, error) {
	t.Helper()
	found := ready(t, s)
	if len(found) != 1 {
		t.Fatalf("got %d due threads, want 1; the thread is %+v", len(found), listed(t, s))
	}
	return g.ResumeDue(t.Context(), found[0], o)
}

// TestAWorkersRunThatFailsIsDueAgainAfterAPause: rule 15.5.
func TestAWorkersRunThatFailsIsDueAgainAfterAPause(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memory.New(), newWork()
			ran := &counter{}
			b.Node("a", func(context.Context, work) (update, error) { ran.add("a"); return update{}, errBroken })
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			dueThread(t, s, b)
			g := compile(t, b, graph.Saver(s), d)
			for n, pause := range []time.Duration{time.Second, 2 * time.Second, 0} {
				run, err := resumeDue(t, g, s, graph.DueOptions{Retry: threeTries, Holder: "w1"})
				if !errors.Is(err, errBroken) || run.Status != graph.Failed || !run.Opened || run.Attempts != n+1 {
					t.Fatalf("run %d: got %+v, %v; want it failed, attempt %d", n+1, run, err, n+1)
				}
				th := listed(t, s)
				want := time.Time{}
				if pause > 0 {
					want = time.Now().Add(pause)
				}
				if !th.Wake.Equal(want) || !run.Wake.Equal(want) || th.Status != graph.Failed {
					t.Errorf("run %d: got wake %v, stored %v, %s; want %v", n+1, run.Wake, th.Wake, th.Status, want)
				}
				time.Sleep(pause)
			}
			if due := ready(t, s); len(due) != 0 {
				t.Errorf("after the last attempt due are %v, want nothing", due)
			}
			same(t, "runs", ran.counts(), map[string]int{"a": 3})
		})
	})
}

// TestProgressStartsTheAttemptsOfAWorkerAgain: rule 15.6.
func TestProgressStartsTheAttemptsOfAWorkerAgain(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s, b, runs := memory.New(), newWork(), 0
			b.Node("a", func(ctx context.Context, w work) (update, error) { // each run commits one more superstep, then fails
				if runs++; runs%2 == 0 {
					return update{}, errBroken
				}
				return logged("a"), nil
			})
			b.Edge(graph.Start, "a")
			b.Route("a", func(_ context.Context, w work) (graph.Next, error) {
				if len(w.Log) == 8 {
					return graph.To(graph.End), nil
				}
				return graph.To("a"), nil
			}, "a", graph.End)
			dueThread(t, s, b)
			g := compile(t, b, graph.Saver(s), d)
			for range 8 {
				run, err := resumeDue(t, g, s, graph.DueOptions{Retry: threeTries})
				if run.Status == graph.Done {
					return
				}
				if !errors.Is(err, errBroken) || run.Attempts != 1 {
					t.Fatalf("got %+v, %v; want a failure that is the first attempt", run, err)
				}
				time.Sleep(time.Second)
			}
			t.Errorf("got the thread %s, want it done", listed(t, s).Status)
		})
	})
}

// TestResultsOfFailedAttemptsAreNoProgress: a sibling's result counts once, and an update that a
// failed attempt keeps does not (rule 15.6).
func TestResultsOfFailedAttemptsAreNoProgress(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memory.New(), newWork()
			b.Node("a", say("a"))
			b.Node("b", func(context.Context, work) (update, error) { return logged("kept"), errBroken },
				graph.KeepUpdateOnError(), graph.ContinueOnError())
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Edge("a", graph.End)
			b.Edge("b", graph.End)
			th := compile(t, b, graph.Saver(s), graph.InterruptBefore("a")).Thread("t")
			done(t, graph.Paused)(th.Invoke(t.Context(), input))
			if _, err := th.UpdateState(t.Context(), update{}, graph.Goto(graph.To("a", "b"))); err != nil {
				t.Fatal(err)
			}
			wakeNow(t, s)
			g := compile(t, b, graph.Saver(s), d)
			for _, want := range []int{1, 2, 3} {
				run, err := resumeDue(t, g, s, graph.DueOptions{Retry: threeTries})
				if !errors.Is(err, errBroken) || run.Attempts != want {
					t.Fatalf("got %+v, %v; want attempt %d", run, err, want)
				}
				time.Sleep(time.Minute)
			}
		})
	})
}

// abandoning loses every write after an opening, as if the process had died.
type abandoning struct{ checkpoint.Saver }

func (a abandoning) Append(ctx context.Context, r checkpoint.Append) (checkpoint.AppendResult, error) {
	if r.Open == nil {
		return checkpoint.AppendResult{}, errCrash
	}
	return a.Saver.Append(ctx, r)
}

func (a abandoning) PutWrites(context.Context, checkpoint.PutWrites) (checkpoint.PutResult, error) {
	return checkpoint.PutResult{}, errCrash
}

// TestAThreadWhoseWorkersDieEndsFailed: rule 15.7.
func TestAThreadWhoseWorkersDieEndsFailed(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s, b, ran := memory.New(), newWork(), &counter{}
			b.Node("a", func(context.Context, work) (update, error) { ran.add("a"); return logged("a"), nil })
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			dueThread(t, s, b)
			dying := compile(t, b, graph.Saver(abandoning{s}), d)
			for range 3 {
				run, err := resumeDue(t, dying, s, graph.DueOptions{Retry: threeTries})
				if err == nil || !run.Opened {
					t.Fatalf("got %+v, %v; want a run whose writes are lost", run, err)
				}
				if th := listed(t, s); !th.Wake.After(time.Now()) || th.Status != graph.Running {
					t.Fatalf("got the thread %s with the wake %v, want its lease to run out", th.Status, th.Wake)
				}
				time.Sleep(2 * checkpoint.DefaultLease)
			}
			same(t, "runs", ran.counts(), map[string]int{"a": 3})
			run, err := resumeDue(t, compile(t, b, graph.Saver(s), d), s, graph.DueOptions{Retry: threeTries})
			var exhausted *graph.AttemptsError
			if !errors.As(err, &exhausted) || exhausted.Attempts != 3 || run.Status != graph.Failed || !run.Wake.IsZero() {
				t.Fatalf("got %+v, %v; want a failed run and an AttemptsError of 3", run, err)
			}
			same(t, "runs", ran.counts(), map[string]int{"a": 3})
			if th := listed(t, s); th.Status != graph.Failed || !th.Wake.IsZero() {
				t.Errorf("got the thread %s with the wake %v, want it failed and not due", th.Status, th.Wake)
			}
			th := compile(t, b, graph.Saver(s), d).Thread("t")
			snap, err := th.State(t.Context())
			if err != nil || !strings.Contains(snap.Reason, "3 runs in a row") {
				t.Errorf("got the reason %q, %v", snap.Reason, err)
			}
			done(t, graph.Done)(th.Resume(t.Context()))
		})
	})
}

// TestAWorkersRunWhoseCommitIsRefusedIsAnAttempt: the writes of the end would succeed.
func TestAWorkersRunWhoseCommitIsRefusedIsAnAttempt(t *testing.T) {
	attempts := map[graph.Durability][]int{graph.Sync: {0, 1, 2, 3}, graph.Async: {0, 1, 2, 3}} // as each run finds them
	for _, d := range []graph.Durability{graph.Sync, graph.Async} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := memory.New(), chain("a")
				dueThread(t, s, b)
				g := compile(t, b, graph.Saver(losingAll{s}), d)
				for n := range 4 {
					if _, err := resumeDue(t, g, s, graph.DueOptions{Retry: graph.RetryPolicy{Attempts: 9}}); !errors.Is(err, errCrash) {
						t.Fatalf("got %v, want the refused commit", err)
					}
					time.Sleep(2 * checkpoint.DefaultLease)
					same(t, "attempts", listed(t, s).Attempts, attempts[d][n])
				}
			})
		})
	}
}

// losingAll refuses the commits of a run.
type losingAll struct{ checkpoint.Saver }

func (l losingAll) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Open == nil {
		return checkpoint.AppendResult{}, errCrash
	}
	return l.Saver.Append(ctx, a)
}

// TestAnInterruptedRunOfAWorkerIsDueAtOnceAndCostsNoAttempt: rule 15.8.
func TestAnInterruptedRunOfAWorkerIsDueAtOnceAndCostsNoAttempt(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, way := range []string{"drain", "cancel"} {
			synctest.Test(t, func(t *testing.T) {
				s, b := memory.New(), newWork()
				drain := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b.Node("a", func(ctx context.Context, _ work) (update, error) {
					if way == "drain" {
						close(drain)
						return logged("a"), nil
					}
					cancel()
					<-ctx.Done()
					return update{}, ctx.Err()
				})
				b.Node("b", say("b"))
				b.Edge(graph.Start, "a")
				b.Edge("a", "b")
				b.Edge("b", graph.End)
				dueThread(t, s, b)
				run, err := compile(t, b, graph.Saver(s), d).ResumeDue(ctx, ready(t, s)[0], graph.DueOptions{Retry: threeTries, Drain: drain})
				if run.Status != graph.Ready || (err == nil) != (way == "drain") {
					t.Errorf("%s: got %+v, %v; want it ready", way, run, err)
				}
				due := ready(t, s)
				if len(due) != 1 || due[0].Attempts != 0 || due[0].Status != graph.Ready {
					t.Errorf("%s: due are %+v, want the thread, with no attempts", way, due)
				}
			})
		}
	})
}

// TestAWorkerLeavesAThreadOnWhichNothingCanRun: rule 15.9.
func TestAWorkerLeavesAThreadOnWhichNothingCanRun(t *testing.T) {
	for want, b := range map[graph.Status]*graph.Builder[work, update]{
		graph.Paused: chain("a", "b"), graph.Done: chain("a"), graph.Waiting: approving(),
	} {
		s := memory.New()
		opts := []graph.Option{graph.Saver(s)}
		if want == graph.Paused {
			opts = append(opts, graph.InterruptBefore("b"))
		}
		g := compile(t, b, opts...)
		done(t, want)(g.Thread("t").Invoke(t.Context(), input))
		wakeNow(t, s)
		for _, seen := range []graph.Status{want, graph.Running} { // the second is what a finder saw before
			found := ready(t, s)
			if len(found) != 1 {
				t.Fatalf("%s: due are %v, want the thread", want, found)
			}
			found[0].Status = seen
			run, err := g.ResumeDue(t.Context(), found[0], graph.DueOptions{Retry: threeTries})
			if err != nil || run.Opened || run.Status != want {
				t.Errorf("%s: got %+v, %v; want nothing run", want, run, err)
			}
			if th := listed(t, s); th.Status != want || !th.Wake.IsZero() {
				t.Errorf("%s: got the thread %s with the wake %v, want it not due", want, th.Status, th.Wake)
			}
			wakeNow(t, s)
		}
	}
}

// approving is a graph whose only node a asks; b is not reached.
func approving() *graph.Builder[work, update] {
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{})
		return update{}, err
	}, refund)
	b.Node("b", say("b"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	return b
}

func TestAWorkersRunOpensNoThreadOfAChangedGraph(t *testing.T) {
	s := memory.New()
	dueThread(t, s, chain("a"))
	before := listed(t, s)
	other := graph.New("other", teststate.WorkSchema)
	other.Node("a", say("a"))
	other.Edge(graph.Start, "a")
	other.Edge("a", graph.End)
	for _, g := range []*app{compile(t, chain("x"), graph.Saver(s)), compile(t, other, graph.Saver(s))} {
		run, err := g.ResumeDue(t.Context(), ready(t, s)[0], graph.DueOptions{Retry: threeTries})
		if !errors.Is(err, graph.ErrGraphChanged) || run.Opened {
			t.Errorf("got %+v, %v; want ErrGraphChanged and nothing opened", run, err)
		}
	}
	after := listed(t, s)
	after.Now = before.Now
	same(t, "thread", after, before)
}

func TestAGraphServesItsOwnSaverUnderItsNames(t *testing.T) {
	s := memory.New()
	names, err := compile(t, chain("a"), graph.Saver(s), graph.FormerNames("old", "older")).Serves(s)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "names", names, []string{"g", "old", "older"})
	if _, err := compile(t, chain("a"), graph.Saver(s)).Serves(memory.New()); err == nil {
		t.Error("a graph serves the saver of another graph")
	}
	if _, err := compile(t, chain("a")).Serves(s); !errors.Is(err, graph.ErrNoSaver) {
		t.Errorf("without a saver: got %v, want ErrNoSaver", err)
	}
}

// lagging makes renewals hang until release is closed.
type lagging struct {
	checkpoint.Saver
	release chan struct{}
}

func (l lagging) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if !w.End {
		<-l.release
	}
	return l.Saver.PutWrites(ctx, w)
}

func TestARunReportsLateRenewals(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s, b, release := memory.New(), newWork(), make(chan struct{})
			b.Node("a", func(context.Context, work) (update, error) {
				time.Sleep(12 * time.Second) // the renewal began after 5, and may take 10
				close(release)
				time.Sleep(checkpoint.DefaultLease)
				return logged("a"), nil
			})
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			dueThread(t, s, b)
			start := time.Now()
			var lateAfter, onTimeAfter time.Duration
			g := compile(t, b, graph.Saver(lagging{s, release}), d)
			run, err := resumeDue(t, g, s, graph.DueOptions{Late: func(late bool) {
				if late {
					lateAfter = time.Since(start)
				} else {
					onTimeAfter = time.Since(start)
				}
			}})
			if err != nil || run.Status != graph.Done {
				t.Fatalf("got %+v, %v", run, err)
			}
			same(t, "late after", lateAfter, checkpoint.DefaultLease*2/3)
			same(t, "on time after", onTimeAfter, 12*time.Second)
		})
	})
}

func TestAPanicInAWorkersPolicyLeavesTheThreadFailed(t *testing.T) {
	s, b := memory.New(), newWork()
	b.Node("a", func(context.Context, work) (update, error) { return update{}, errBroken })
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	dueThread(t, s, b)
	run, err := resumeDue(t, compile(t, b, graph.Saver(s)), s, graph.DueOptions{
		Retry: graph.RetryPolicy{Attempts: 3, If: func(error) bool { panic("policy") }},
	})
	var panicked *graph.PanicError
	if !errors.As(err, &panicked) || !errors.Is(err, errBroken) || run.Status != graph.Failed || !run.Wake.IsZero() {
		t.Errorf("got %+v, %v; want the thread failed with both errors", run, err)
	}
	if th := listed(t, s); th.Status != graph.Failed || !th.Wake.IsZero() {
		t.Errorf("got the thread %s with the wake %v", th.Status, th.Wake)
	}
}

func TestAnErrorThatAWorkersPolicyExcludesEndsTheThread(t *testing.T) {
	s, b := memory.New(), newWork()
	b.Node("a", func(context.Context, work) (update, error) { return update{}, graph.RetryAfter(errBroken, time.Hour) })
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	for excluded, pause := range map[bool]time.Duration{true: 0, false: time.Hour} {
		if err := s.Delete(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		dueThread(t, s, b)
		run, _ := resumeDue(t, compile(t, b, graph.Saver(s)), s, graph.DueOptions{
			Retry: graph.RetryPolicy{Attempts: 3, If: func(err error) bool { return !excluded }},
		})
		if got := time.Until(run.Wake) > pause-time.Minute; run.Wake.IsZero() != excluded || !excluded && !got {
			t.Errorf("excluded %t: got the wake %v, want a pause of %s", excluded, run.Wake, pause)
		}
	}
}

// mailCounter counts the calls of Mail.
type mailCounter struct {
	checkpoint.Saver
	calls atomic.Int64
}

func (s *mailCounter) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	s.calls.Add(1)
	return s.Saver.Mail(ctx, q)
}

// TestAWorkerReadsNoMessagesThatItFound: Ready returns the messages of a thread that it reserves.
// A run uses them only if no other run has opened the thread since, and it knows of no newer
// message.
func TestAWorkerReadsNoMessagesThatItFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		begun   bool // the thread has a checkpoint
		fails   bool // its first input has failed, and is due
		between func(t *testing.T, g *app, found checkpoint.ReadyThread)
		calls   int64 // -1 for any number: the run can learn of the newer message before it ends
		log     string
	}{
		{name: "a new thread", log: "one"},
		{name: "another input", begun: true, log: "zero one"},
		{name: "a retry", begun: true, fails: true, log: "zero one"},
		{name: "a newer message for a new thread", between: submitTwo, calls: -1, log: "one two"},
		{name: "a newer message", begun: true, between: submitTwo, calls: 1, log: "zero one two"},
		{name: "another run that takes the message", between: resumeToo, log: "one"},
		{name: "another run that takes the input", begun: true, between: resumeToo, log: "zero one"},
		{name: "another run that fails", begun: true, fails: true, between: resumeToo, calls: 1, log: "zero one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := &mailCounter{Saver: memory.New()}, newWork()
				broken := c.fails
				b.Node("a", func(context.Context, work) (update, error) {
					if broken {
						return update{}, errBroken
					}
					return update{}, nil
				})
				b.Edge(graph.Start, "a")
				b.Edge("a", graph.End)
				g := compile(t, b, graph.Saver(s), graph.HotThreads(0))
				submit := func(line string) {
					if _, err := g.Thread("t").Submit(t.Context(), logged(line)); err != nil {
						t.Fatal(err)
					}
				}
				if c.begun {
					submit("zero")
					if _, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil && !c.fails {
						t.Fatal(err)
					}
				}
				submit("one")
				got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Nanosecond, Mail: 2})
				if err != nil || len(got.Threads) != 1 || !got.Threads[0].HasMail {
					t.Fatalf("got %+v, %v ready; want one thread with its messages", got.Threads, err)
				}
				if c.between != nil {
					c.between(t, g, got.Threads[0])
				}
				before := s.calls.Load()
				if _, err := g.ResumeDue(t.Context(), got.Threads[0], graph.DueOptions{}); err != nil && !errors.Is(err, errBroken) && !errors.Is(err, checkpoint.ErrConflict) {
					t.Fatal(err)
				}
				if calls := s.calls.Load() - before; calls != c.calls && c.calls >= 0 {
					t.Errorf("the run read the messages by %d calls, want %d", calls, c.calls)
				}
				broken = false
				time.Sleep(time.Hour)
				serve(t, g, s)
				if log := strings.Join(snapshot(t, g.Thread("t")).State.Log, " "); log != c.log {
					t.Errorf("the log is %q, want %q", log, c.log)
				}
			})
		})
	}
}

func submitTwo(t *testing.T, g *app, _ checkpoint.ReadyThread) {
	t.Helper()
	if _, err := g.Thread("t").Submit(t.Context(), logged("two")); err != nil {
		t.Fatal(err)
	}
}

func resumeToo(t *testing.T, g *app, found checkpoint.ReadyThread) {
	t.Helper()
	if _, err := g.ResumeDue(t.Context(), found, graph.DueOptions{}); err != nil && !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
}
