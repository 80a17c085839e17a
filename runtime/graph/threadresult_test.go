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
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// awaitedResult is what a call of Result has returned.
type awaitedResult struct {
	res result
	err error
}

// await calls Result in the background.
func await(t *testing.T, th thread, opts ...graph.ResultOption) <-chan awaitedResult {
	t.Helper()
	ended := make(chan awaitedResult, 1)
	go func() {
		res, err := th.Result(t.Context(), opts...)
		ended <- awaitedResult{res, err}
	}()
	return ended
}

// stillWaits checks that a call of Result has not returned. It is for synctest.
func stillWaits(t *testing.T, what string, ended <-chan awaitedResult) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-ended:
		t.Fatalf("%s: Result returned %s, %v; want it to wait", what, got.res.Status, got.err)
	default:
	}
}

// eachSaver calls test for savers that store in memory and in files. Savers of all kinds do the
// same, as savertest shows. Package proof runs random graphs on all of them.
func eachSaver(t *testing.T, test func(t *testing.T, s checkpoint.Saver)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, memory.New()) })
	t.Run("file", func(t *testing.T) {
		s, err := file.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAResultIsThatOfAnInvokeElsewhere waits in one process for what another one runs (rule 26.1).
func TestAResultIsThatOfAnInvokeElsewhere(t *testing.T) {
	eachSaver(t, func(t *testing.T, s checkpoint.Saver) {
		here, there := compile(t, chain("a", "b"), graph.Saver(s)), compile(t, chain("a", "b"), graph.Saver(s))
		want := done(t, graph.Done)(there.Thread("invoked").Invoke(t.Context(), logged("one")))
		submit(t, here.Thread("t"), "one")
		ended := await(t, here.Thread("t"))
		serve(t, there, s)
		got := <-ended
		res := done(t, graph.Done)(got.res, got.err)
		same(t, "state", res.State, want.State)
		same(t, "checkpoint", res.Checkpoint, snapshot(t, there.Thread("t")).Checkpoint)
		submit(t, here.Thread("t"), "two")
		ended = await(t, here.Thread("t"))
		serve(t, there, s)
		got = <-ended
		same(t, "log after the second input", done(t, graph.Done)(got.res, got.err).State.Log, []string{"one", "a", "b", "two", "a", "b"})
		same(t, "log of a call after the end", done(t, graph.Done)(here.Thread("t").Result(t.Context())).State.Log, got.res.State.Log)
	})
}

// TestAResultWhoseInputBeginsBetweenTwoReadsIsNoRelease begins the first input of a thread while a
// call of Result reads. The call has read the open version, and not the messages (rule 26.1).
func TestAResultWhoseInputBeginsBetweenTwoReadsIsNoRelease(t *testing.T) {
	m := &meddled{Saver: memory.New(), at: 2} // 1 is Load, 2 is Mail
	there := compile(t, asker(new(counter)), graph.Saver(m.Saver))
	submit(t, there.Thread("t"), "one")
	m.meddle = func() { serve(t, there, m.Saver) }
	here := compile(t, asker(new(counter)), graph.Saver(m)).Thread("t")
	res := done(t, graph.Waiting)(here.Result(t.Context(), graph.UntilWaiting()))
	same(t, "log", res.State.Log, []string{"one"})
}

// TestAResultWhoseInputBeginsBetweenTwoReadsIsNotTheOneBefore is the same for a thread that has
// finished an earlier input.
func TestAResultWhoseInputBeginsBetweenTwoReadsIsNotTheOneBefore(t *testing.T) {
	m := &meddled{Saver: memory.New(), at: 2} // 1 is Load, 2 is Mail
	there := compile(t, chain("a"), graph.Saver(m.Saver))
	done(t, graph.Done)(there.Thread("t").Invoke(t.Context(), logged("one")))
	submit(t, there.Thread("t"), "two")
	m.meddle = func() { serve(t, there, m.Saver) }
	res := done(t, graph.Done)(compile(t, chain("a"), graph.Saver(m)).Thread("t").Result(t.Context()))
	same(t, "log", res.State.Log, []string{"one", "a", "two", "a"})
}

// TestALaterInputDoesNotChangeAResult reads results after later inputs and releases (rule 26.2).
func TestALaterInputDoesNotChangeAResult(t *testing.T) {
	for name, opts := range map[string][]graph.Option{"one version": nil, "released": {graph.ReleaseOnDone()}} {
		t.Run(name, func(t *testing.T) {
			eachSaver(t, func(t *testing.T, s checkpoint.Saver) {
				g := compile(t, chain("a"), append(opts, graph.Saver(s))...)
				th := g.Thread("t")
				for _, id := range []string{"one", "two", "three"} {
					submit(t, th, id, graph.RequestID(id))
				}
				serve(t, g, s)
				want, all := []string{}, []string{}
				for _, id := range []string{"one", "two", "three"} {
					all = append(all, id, "a")
					want = all
					if opts != nil {
						want = []string{id, "a"}
					}
					same(t, "log of "+id, done(t, graph.Done)(th.Result(t.Context(), graph.RequestID(id))).State.Log, want)
				}
				same(t, "log of the newest", done(t, graph.Done)(th.Result(t.Context())).State.Log, want)
				if _, err := th.Result(t.Context(), graph.RequestID("four")); !errors.Is(err, checkpoint.ErrNotFound) {
					t.Errorf("an input that nobody submitted: got %v, want ErrNotFound", err)
				}
			})
		})
	}
}

// TestAResultIsThatOfTheInputsBeforeTheCall submits inputs while a call waits (rule 26.2).
func TestAResultIsThatOfTheInputsBeforeTheCall(t *testing.T) {
	for _, released := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			opts := []graph.Option{graph.Saver(s)}
			if released {
				opts = append(opts, graph.ReleaseOnDone())
			}
			g := compile(t, chain("a"), opts...)
			th := g.Thread("t")
			done(t, graph.Done)(th.Invoke(t.Context(), logged("zero")))
			submit(t, th, "one")
			submit(t, th, "two")
			ended := await(t, th)
			stillWaits(t, "two inputs wait", ended)
			submit(t, th, "three")
			serve(t, g, s)
			got := <-ended
			log := done(t, graph.Done)(got.res, got.err).State.Log
			same(t, "last lines", log[len(log)-2:], []string{"two", "a"})
		})
	}
}

// TestAResultWhoseCheckpointIsPrunedIsAnError ends an input and begins another one between two
// looks of a call, and prunes what the first one has stored (rule 26.4).
func TestAResultWhoseCheckpointIsPrunedIsAnError(t *testing.T) {
	for keep, want := range map[int]error{1: checkpoint.ErrNotFound, 100: nil} {
		synctest.Test(t, func(t *testing.T) {
			s := silent{memory.New()}
			here, there := compile(t, asker(new(counter)), graph.Saver(s)), compile(t, asker(new(counter)), graph.Saver(s)).Thread("t")
			one := done(t, graph.Waiting)(there.Invoke(t.Context(), logged("one")))
			ended := await(t, here.Thread("t"))
			stillWaits(t, "a question", ended)
			log := done(t, graph.Done)(there.Resume(t.Context(), refund.Answer(one.Questions[0], true))).State.Log
			two := done(t, graph.Waiting)(there.Invoke(t.Context(), logged("two")))
			if _, err := s.Prune(t.Context(), "t", checkpoint.Retention{Last: keep}); err != nil {
				t.Fatal(err)
			}
			done(t, graph.Done)(there.Resume(t.Context(), refund.Answer(two.Questions[0], true)))
			got := <-ended
			if !errors.Is(got.err, want) {
				t.Fatalf("%d checkpoints kept: got %v, want %v", keep, got.err, want)
			}
			if want == nil {
				same(t, "log", got.res.State.Log, log)
			}
		})
	}
}

// TestAResultOfAFailedRunHasItsErrors reads the failure of a run of another process (rule 26.3).
func TestAResultOfAFailedRunHasItsErrors(t *testing.T) {
	eachSaver(t, func(t *testing.T, s checkpoint.Saver) {
		b := chain("a")
		b.Node("b", func(context.Context, work) (update, error) { return update{}, errBroken })
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		g := compile(t, b, graph.Saver(s))
		th := g.Thread("t")
		_, want := th.Invoke(t.Context(), logged("one"))
		res, err := compile(t, chain("a", "b"), graph.Saver(s)).Thread("t").Result(t.Context())
		var failed *graph.FailedError
		if !errors.As(err, &failed) || failed.Thread != "t" || err.Error() != want.Error() {
			t.Fatalf("got %v, want a FailedError with the text %v", err, want)
		}
		nodes := graph.NodeErrors(err)
		if len(nodes) != 1 || nodes[0].Error() != want.Error() || nodes[0].Node != "b" || nodes[0].Attempt != 1 {
			t.Errorf("got the errors %v, want that of b in its first attempt", nodes)
		}
		same(t, "status", res.Status, graph.Failed)
		same(t, "log", res.State.Log, []string{"one", "a"})
	})
}

// TestAResultWaitsForTheLastAttempt waits while a worker repeats a failed run (rule 26.3).
func TestAResultWaitsForTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b := newWork()
		b.Node("a", func(context.Context, work) (update, error) { return update{}, errBroken })
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g := compile(t, b, graph.Saver(s))
		submit(t, g.Thread("t"), "one")
		ended := await(t, g.Thread("t"))
		again := graph.DueOptions{Retry: graph.RetryPolicy{Attempts: 3, Base: time.Minute, Max: time.Minute}}
		for i := range 3 {
			stillWaits(t, fmt.Sprint("attempt ", i), ended)
			found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
			if err != nil || len(found.Threads) != 1 {
				t.Fatalf("got %d threads, %v; want one", len(found.Threads), err)
			}
			if _, err := g.ResumeDue(t.Context(), found.Threads[0], again); !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		var failed *graph.FailedError
		if got := <-ended; !errors.As(got.err, &failed) {
			t.Errorf("got %v, want a FailedError", got.err)
		}
	})
}

// TestAResultOfACancelledInput cancels an input that waits, and one that runs (rule 26.3).
func TestAResultOfACancelledInput(t *testing.T) {
	eachSaver(t, func(t *testing.T, s checkpoint.Saver) {
		g := compile(t, asker(new(counter)), graph.Saver(s))
		th := g.Thread("t")
		check := func(what string, res result, err error, want []string) {
			t.Helper()
			var cancelled *graph.CancelledError
			if !errors.As(err, &cancelled) || *cancelled != (graph.CancelledError{Graph: "g", Thread: "t", Reason: "no stock"}) {
				t.Errorf("%s: got %v, want a CancelledError", what, err)
			}
			same(t, what+": log", res.State.Log, want)
		}
		submit(t, th, "one", graph.RequestID("one"))
		serve(t, g, s)
		submit(t, th, "two", graph.RequestID("two"))
		running, queued := await(t, th, graph.RequestID("one")), await(t, th, graph.RequestID("two"))
		if err := th.Cancel(t.Context(), "no stock"); err != nil {
			t.Fatal(err)
		}
		serve(t, g, s)
		got := <-queued
		check("the input that waited", got.res, got.err, nil)
		got = <-running
		check("the run", got.res, got.err, []string{"one"})
		submit(t, th, "three", graph.RequestID("three"))
		serve(t, g, s)
		res, err := th.Result(t.Context(), graph.RequestID("one"))
		check("the run, after another input", res, err, []string{"one"})
		submit(t, th, "four", graph.CancelPending("no stock"))
		serve(t, g, s)
		res, err = th.Result(t.Context(), graph.RequestID("three"))
		check("a run that an input cancelled", res, err, []string{"one", "sibling", "three"})
		if err := th.Cancel(t.Context(), "no stock"); err != nil {
			t.Fatal(err)
		}
		serve(t, g, s)
		if _, err := th.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		res, err = th.Result(t.Context())
		check("a run that was released later", res, err, []string{"one", "sibling", "three", "sibling", "four", "sibling"})
	})
}

// TestAResultOfWorkThatNothingFinishes reads runs that were dropped, released or refused (rule
// 26.3).
func TestAResultOfWorkThatNothingFinishes(t *testing.T) {
	eachSaver(t, func(t *testing.T, s checkpoint.Saver) {
		g := compile(t, asker(new(counter)), graph.Saver(s))
		th := g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one"), graph.RequestID("one")))
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("two"), graph.RequestID("two"), graph.DiscardPending()))
		res, err := th.Result(t.Context(), graph.RequestID("one"))
		if !errors.Is(err, graph.ErrUnfinished) {
			t.Errorf("dropped: got %v, want ErrUnfinished", err)
		}
		same(t, "log", res.State.Log, []string{"one"})
		if _, err := th.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if res, err = th.Result(t.Context(), graph.RequestID("two")); !errors.Is(err, graph.ErrReleased) {
			t.Errorf("released: got %v, want ErrReleased", err)
		}
		same(t, "log of the version", res.State.Log, []string{"one", "sibling", "two", "sibling"}) // rule 10.12
		submit(t, g.Thread("r"), "large", graph.RequestID("large"))
		id := checkpoint.ID{1}
		if _, err := s.Append(t.Context(), checkpoint.Append{
			Thread: "r", Open: &checkpoint.Opening{}, End: true, Status: checkpoint.Failed,
			Records:  []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Update, Graph: "g", Snapshot: true, Payload: []byte{0x80}}},
			Messages: checkpoint.Handled{Refuse: []checkpoint.Refusal{{Number: 1, Reason: "it is too large"}}},
		}); err != nil {
			t.Fatal(err)
		}
		var refused *graph.RefusedError
		_, err = g.Thread("r").Result(t.Context(), graph.RequestID("large"))
		if !errors.As(err, &refused) || refused.Request != "large" || refused.Reason != "it is too large" {
			t.Errorf("refused: got %v, want a RefusedError", err)
		}
	})
}

// TestAResultOfAThreadThatDoesNotExist returns ErrNotFound, also for a thread that is deleted
// while a call waits (rule 26.4).
func TestAResultOfAThreadThatDoesNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []checkpoint.Saver{memory.New(), silent{memory.New()}} {
			g := compile(t, asker(new(counter)), graph.Saver(s))
			if _, err := g.Thread("none").Result(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
				t.Errorf("got %v, want ErrNotFound", err)
			}
			for _, again := range []bool{false, true} {
				th := g.Thread("t")
				done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
				ended := await(t, th)
				stillWaits(t, "a question", ended)
				if err := s.Delete(t.Context(), "t"); err != nil {
					t.Fatal(err)
				}
				if again {
					done(t, graph.Waiting)(compile(t, asker(new(counter)), graph.Saver(s)).Thread("t").Invoke(t.Context(), logged("two")))
				}
				if got := <-ended; !errors.Is(got.err, checkpoint.ErrNotFound) {
					t.Errorf("got %s, %v; want ErrNotFound", got.res.Status, got.err)
				}
			}
		}
	})
}

// TestAResultUntilWaiting returns a thread that waits, unless an answer has come (rule 26.5).
func TestAResultUntilWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := compile(t, asker(new(counter)), graph.Saver(s))
		th := g.Thread("t")
		submit(t, th, "one")
		ended, asked := await(t, th), await(t, th, graph.UntilWaiting())
		stillWaits(t, "the input waits", asked)
		serve(t, g, s)
		got := <-asked
		res := done(t, graph.Waiting)(got.res, got.err)
		same(t, "questions", len(res.Questions), 1)
		stillWaits(t, "a question", ended)
		if err := th.Answer(t.Context(), refund.Answer(res.Questions[0], true)); err != nil {
			t.Fatal(err)
		}
		found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Minute})
		if err != nil || len(found.Threads) != 1 {
			t.Fatalf("got %d threads, %v; want one", len(found.Threads), err)
		}
		asked = await(t, th, graph.UntilWaiting())
		stillWaits(t, "a worker is about to take the answer", asked)
		if _, err := g.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, ended := range []<-chan awaitedResult{ended, asked} {
			got := <-ended
			same(t, "log", done(t, graph.Done)(got.res, got.err).State.Log, []string{"one", "answer true", "sibling"})
		}
	})
}

// silent is a saver that announces nothing.
type silent struct{ checkpoint.Saver }

// asks counts the calls of News and Load of a saver that announces nothing. While the server of
// the saver is down, Load fails after some milliseconds.
type asks struct {
	checkpoint.Saver
	news, loads atomic.Int64
	down        atomic.Bool
}

func (a *asks) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	a.news.Add(1)
	return a.Saver.News(ctx, threads)
}

func (a *asks) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	n := a.loads.Add(1)
	if a.down.Load() {
		time.Sleep(time.Duration(1+n%7) * time.Millisecond)
		return checkpoint.Chain{}, fmt.Errorf("%w: it is down", checkpoint.ErrUnavailable)
	}
	return a.Saver.Load(ctx, p)
}

// TestCallsOfResultShareAPoll waits for many threads for a minute.
func TestCallsOfResultShareAPoll(t *testing.T) {
	const threads = 100
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		a := &asks{Saver: s}
		here, there := compile(t, chain("a"), graph.Saver(a)), compile(t, chain("a"), graph.Saver(s))
		var all []<-chan awaitedResult
		for i := range threads {
			th := here.Thread(fmt.Sprint("t", i))
			submit(t, th, "one")
			all = append(all, await(t, th))
		}
		time.Sleep(time.Minute)
		stillWaits(t, "nobody runs the threads", all[0])
		news, loads := a.news.Load(), a.loads.Load()
		if news < 50 || news > 70 || loads > 3*threads {
			t.Errorf("got %d calls of News and %d of Load, want one a second, and 2 for each thread", news, loads)
		}
		serve(t, there, s)
		for _, ended := range all {
			got := <-ended
			done(t, graph.Done)(got.res, got.err)
		}
		if got := a.loads.Load() - loads; got > 4*threads {
			t.Errorf("got %d calls of Load for %d ends, want 2 each", got, threads)
		}
	})
}

// TestCallsOfResultForOneThreadRetryOnTheirOwn waits for a thread for a minute in which the server
// of the saver is unavailable.
func TestCallsOfResultForOneThreadRetryOnTheirOwn(t *testing.T) {
	const callers = 5
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		a := &asks{Saver: s}
		here, there := compile(t, chain("a"), graph.Saver(a)), compile(t, chain("a"), graph.Saver(s))
		submit(t, here.Thread("t"), "one")
		var all []<-chan awaitedResult
		for range callers {
			all = append(all, await(t, here.Thread("t")))
		}
		time.Sleep(time.Minute)
		stillWaits(t, "nobody runs the thread", all[0])
		a.down.Store(true)
		loads := a.loads.Load()
		serve(t, there, s)
		time.Sleep(time.Minute)
		stillWaits(t, "the server is unavailable", all[0])
		if got := a.loads.Load() - loads; got < 30*callers || got > 70*callers {
			t.Errorf("got %d calls of Load by %d callers in a minute, want one a second by each", got, callers)
		}
		a.down.Store(false)
		for _, ended := range all {
			got := <-ended
			done(t, graph.Done)(got.res, got.err)
		}
	})
}

// TestARunOfTheSameGraphEndsAResultAtOnce needs no poll.
func TestARunOfTheSameGraphEndsAResultAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := compile(t, chain("a"), graph.Saver(silent{s}))
		submit(t, g.Thread("t"), "one")
		ended := await(t, g.Thread("t"))
		time.Sleep(1500 * time.Millisecond)
		stillWaits(t, "nobody runs the thread", ended)
		began := time.Now()
		serve(t, g, s)
		got := <-ended
		done(t, graph.Done)(got.res, got.err)
		same(t, "time", time.Since(began), time.Duration(0))
	})
}

// TestAResultEndsWithItsContext ends the wait, not the run.
func TestAResultEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := compile(t, chain("a"), graph.Saver(memory.New()))
		submit(t, g.Thread("t"), "one")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := g.Thread("t").Result(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that of the context", err)
		}
		if _, err := g.Thread("t").At(checkpoint.ID{1}).Result(t.Context()); err == nil {
			t.Error("a result of a checkpoint: got no error")
		}
	})
}

// TestToolsReadResults reads results without the types of the graph.
func TestToolsReadResults(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	submit(t, g.Thread("t"), "one")
	serve(t, g, s)
	status, err := g.Untyped().Result(t.Context(), "t")
	if err != nil || status != graph.Done {
		t.Errorf("Untyped: got %s, %v; want done", status, err)
	}
	snap, err := graph.Stored{Saver: s, Ref: checkpoint.Ref{Thread: "t"}}.Result(t.Context())
	if err != nil || snap.Status != graph.Done || snap.Checkpoint != snapshot(t, g.Thread("t")).Checkpoint || len(snap.State) == 0 {
		t.Errorf("Stored: got %s, %v; want done, with the state", snap, err)
	}
	if _, err := (graph.Stored{Saver: s, Ref: checkpoint.Ref{Thread: "none"}}).Result(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) || err.Error() != `graph: thread "none": not found; submit an input first` {
		t.Errorf("Stored, of no thread: got %v, want ErrNotFound", err)
	}
}
