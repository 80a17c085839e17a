package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// day is longer than a lease, so that a run that sleeps for a day ends.
const day = 24 * time.Hour

// sleeper is a node that sleeps for the given times, one after another, and logs its name.
func sleeper(name string, naps ...time.Duration) func(context.Context, work) (update, error) {
	return func(ctx context.Context, _ work) (update, error) {
		for _, d := range naps {
			if err := graph.Sleep(ctx, d); err != nil {
				return update{}, err
			}
		}
		return logged(name), nil
	}
}

// parallel builds nodes that run in one superstep, and one after them.
func parallel(nodes map[graph.ID]func(context.Context, work) (update, error), order ...graph.ID) *graph.Builder[work, update] {
	b := newWork()
	for _, id := range order {
		b.Node(id, nodes[id])
		b.Edge(graph.Start, id)
	}
	b.Join(order, b.Node("after", say("after")))
	b.Edge("after", graph.End)
	return b
}

// eachInBubble runs test in a synctest bubble, for each durability.
func eachInBubble(t *testing.T, test func(t *testing.T, d graph.Durability)) {
	t.Helper()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) { test(t, d) })
	})
}

func described(t *testing.T, th thread) checkpoint.Thread {
	t.Helper()
	listed, err := th.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return listed
}

func TestALongSleepEndsTheRunAndTheThreadIsDueThen(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		runs := 0
		b := newWork()
		b.Node("wait", func(ctx context.Context, w work) (update, error) {
			runs++
			return sleeper("woke", 7*day)(ctx, w)
		})
		b.Edge(graph.Start, "wait")
		b.Edge("wait", graph.End)
		th := compile(t, b, graph.Saver(s), d).Thread("t")
		began := time.Now()
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		want := []graph.Timer{{Node: "wait", Due: began.Add(7 * day).UTC()}}
		same(t, "timers of the result", res.Timers, want)
		same(t, "questions of the result", len(res.Questions), 0)
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "timers of the snapshot", snap.Timers, want)
		same(t, "questions of the snapshot", len(snap.Questions), 0)
		listed := described(t, th)
		if asked, err := graph.OpenQuestions(listed); err != nil || len(asked) != 0 {
			t.Errorf("listed: got the questions %v, %v; want none", asked, err)
		}
		timers, err := graph.OpenTimers(listed)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "timers of the listing", timers, want)
		if !listed.Wake.Equal(want[0].Due) || listed.Holder != "" {
			t.Errorf("the thread is due at %v and held by %q, want %v and nobody", listed.Wake, listed.Holder, want[0].Due)
		}

		time.Sleep(6 * day)
		before := done(t, graph.Waiting)(th.Resume(t.Context()))
		same(t, "timers of a resume that is too early", before.Timers, want)
		if now := described(t, th); !now.Wake.Equal(want[0].Due) || now.Head != listed.Head {
			t.Errorf("a resume that is too early: the thread is due at %v with head %s, want %v and %s", now.Wake, now.Head, want[0].Due, listed.Head)
		}
		if got := readyNow(t, s); got != "" {
			t.Errorf("before the time %q is ready, want nothing", got)
		}

		time.Sleep(day)
		if got := readyNow(t, s); got != "t" {
			t.Errorf("at the time %q is ready, want the thread", got)
		}
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "woke"})
		same(t, "runs of the node", runs, 2)
		same(t, "wake after the end", described(t, th).Wake, time.Time{})
	})
}

// readyNow returns the ids of the threads that are due.
func readyNow(t *testing.T, s checkpoint.Saver) (ids string) {
	t.Helper()
	var graphs []string
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, th.Graph)
	}
	got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: graphs, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range got.Threads {
		ids += th.ID
	}
	return ids
}

func TestAShortSleepHoldsTheThread(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		const nap = 14 * time.Second
		s := memory.New()
		b := parallel(map[graph.ID]func(context.Context, work) (update, error){
			"a": sleeper("a", nap), "b": sleeper("b", nap/2, nap/2, nap),
		}, "a", "b")
		th := compile(t, b, graph.Saver(s), d).Thread("t")
		began := time.Now()
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
		same(t, "log", res.State.Log, []string{"in", "a", "b", "after"})
		same(t, "time", time.Since(began), 2*nap)
	})
}

func TestASleepEndsWhileItsSiblingsRun(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		var woke time.Duration
		began := time.Now()
		b := parallel(map[graph.ID]func(context.Context, work) (update, error){
			"long": func(context.Context, work) (update, error) {
				time.Sleep(10 * time.Minute)
				return logged("long"), nil
			},
			"nap": func(ctx context.Context, w work) (update, error) {
				u, err := sleeper("nap", time.Minute, 2*time.Minute)(ctx, w)
				woke = time.Since(began)
				return u, err
			},
		}, "long", "nap")
		res := done(t, graph.Done)(compile(t, b, graph.Saver(s), d).Thread("t").Invoke(t.Context(), logged("in")))
		same(t, "log", res.State.Log, []string{"in", "long", "nap", "after"})
		same(t, "time at which the sleep ended", woke, 3*time.Minute)
	})
}

func TestASleepIsATimeoutInARace(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		b := newWork()
		b.Node("slow", func(ctx context.Context, _ work) (update, error) {
			<-ctx.Done()
			return update{}, ctx.Err()
		})
		b.Node("limit", sleeper("limit", day))
		b.Node("never", sleeper("never", 3*day))
		b.JoinAny([]graph.ID{"slow", "limit", "never"}, b.Node("after", say("after")))
		for _, id := range []graph.ID{"slow", "limit", "never"} {
			b.Edge(graph.Start, id)
		}
		b.Edge("after", graph.End)
		th := compile(t, b, graph.Saver(s), d).Thread("t")
		began := time.Now()
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
		same(t, "log", res.State.Log, []string{"in", "limit", "after"})
		same(t, "time", time.Since(began), day)
		if timers, err := graph.OpenTimers(described(t, th)); err != nil || len(timers) != 0 {
			t.Errorf("the thread has the timers %v, %v; want none of the loser", timers, err)
		}
	})
}

// TestTheSleepOfALoserMakesNoThreadDue edits a thread on which a race is decided, and another task
// waits for a signal (rule 22.12).
func TestTheSleepOfALoserMakesNoThreadDue(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] {
		b := newWork()
		b.Node("loser", sleeper("loser", day))
		b.Node("winner", answering, refund)
		b.Node("other", receiver("other", ""), payment)
		b.Node("after", say("after"))
		b.JoinAny([]graph.ID{"loser", "winner"}, "after")
		for _, id := range []graph.ID{"loser", "winner", "other"} {
			b.Edge(graph.Start, id)
		}
		b.Edge("other", graph.End)
		b.Edge("after", graph.End)
		return b
	}, func(t *testing.T, s checkpoint.Saver, g *app) {
		t.Helper()
		th := g.Thread("t")
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		done(t, graph.Waiting)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		same(t, "the thread is due", described(t, th).Wake, time.Time{})
		if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
			t.Fatal(err)
		}
		same(t, "the thread is due after an edit", described(t, th).Wake, time.Time{})
		time.Sleep(day)
		same(t, "openings by a worker", serve(t, g, s), 0)
	})
}

func TestASleepAtAnyDepthOfSubgraphsAndInSends(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		for nap, ends := range map[time.Duration]int{5 * time.Second: 0, day: 1} {
			inner := newWork()
			inner.Node("nap", sleeper("nap", nap))
			inner.Node("sibling", say("sibling"))
			for _, id := range []graph.ID{"nap", "sibling"} {
				inner.Edge(graph.Start, id)
				inner.Edge(id, graph.End)
			}
			middle := newWork()
			middle.Subgraph("inner", compile(t, inner, graph.SubgraphOnly()))
			middle.Edge(graph.Start, "inner")
			middle.Edge("inner", graph.End)
			b := newWork()
			b.Subgraph("middle", compile(t, middle, graph.SubgraphOnly()))
			each := graph.TaskNode(b, "each", func(ctx context.Context, w work, in doc) (update, error) {
				return sleeper(in.Name, nap)(ctx, w)
			})
			b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
				next := graph.To("middle")
				next.Add(each.Send(doc{Name: "x"}))
				next.Add(each.Send(doc{Name: "y"}))
				return next, nil
			}, "middle", "each")
			b.Edge("middle", graph.End)
			b.Edge("each", graph.End)
			th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
			began := time.Now()
			res, err := th.Invoke(t.Context(), logged("in"))
			parks := 0
			for ; err == nil && res.Status == graph.Waiting; parks++ {
				var places []string
				for _, timer := range res.Timers {
					places = append(places, timer.String())
				}
				until := " until " + began.Add(nap).UTC().Format(time.RFC3339Nano)
				same(t, "timers", places, []string{"middle/inner/nap" + until, "each" + until, "each[1]" + until})
				wake := described(t, th).Wake
				same(t, "wake", wake.Sub(began), nap)
				time.Sleep(time.Until(wake))
				res, err = th.Resume(t.Context())
			}
			done(t, graph.Done)(res, err)
			same(t, "log", res.State.Log, []string{"in", "nap", "sibling", "x", "y"})
			same(t, "time", time.Since(began), nap)
			same(t, "how often the run ended", parks, ends)
		}
	})
}

func TestASleepWithoutAThreadWaitsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("nap", sleeper("nap", day, day))
		b.Edge(graph.Start, "nap")
		b.Edge("nap", graph.End)
		g := compile(t, b)
		began := time.Now()
		res := done(t, graph.Done)(g.Run(t.Context(), logged("in")))
		same(t, "log", res.State.Log, []string{"in", "nap"})
		same(t, "time", time.Since(began), 2*day)

		ctx, cancel := context.WithTimeout(t.Context(), day)
		defer cancel()
		if _, err := g.Run(ctx, logged("in")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ends: got %v, want its error", err)
		}
	})
}

func TestASleepOutsideANodeIsAnError(t *testing.T) {
	b := newWork()
	var inRoute error
	b.Node("a", say("a"))
	b.Edge(graph.Start, "a")
	b.Route("a", func(ctx context.Context, _ work) (graph.Next, error) {
		inRoute = graph.Sleep(ctx, time.Hour)
		return graph.To(graph.End), nil
	}, graph.End)
	done(t, graph.Done)(compile(t, b).Run(t.Context(), logged("in")))
	for where, err := range map[string]error{"a route": inRoute, "a plain context": graph.SleepUntil(t.Context(), time.Now())} {
		if !errors.Is(err, graph.ErrNotAskable) {
			t.Errorf("in %s: got %v, want ErrNotAskable", where, err)
		}
	}
}

func TestAttemptsShareTheTimersOfATask(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("nap", func(ctx context.Context, w work) (update, error) {
			u, err := sleeper("nap", day)(ctx, w)
			if err == nil && graph.CurrentTask(ctx).Attempt < 3 {
				return u, errBroken
			}
			return u, err
		}, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: time.Second}), graph.Timeout(time.Minute))
		b.Edge(graph.Start, "nap")
		b.Edge("nap", graph.End)
		th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
		began := time.Now()
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		time.Sleep(day)
		done(t, graph.Done)(th.Resume(t.Context()))
		if took := time.Since(began); took < day || took > day+time.Minute {
			t.Errorf("three attempts took %v, want one sleep of a day", took)
		}
	})
}

func TestATimerSurvivesAnEditAndAForkSleepsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b := newWork()
		b.Node("nap", sleeper("nap", day))
		b.Edge(graph.Start, "nap")
		b.Edge("nap", graph.End)
		th := compile(t, b, graph.Saver(s)).Thread("t")
		began := time.Now()
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		time.Sleep(time.Hour)
		if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
			t.Fatal(err)
		}
		same(t, "wake after an edit", described(t, th).Wake.Sub(began), day)

		if got := mustReady(t, s, day); got != "t" {
			t.Fatalf("got %q ready at its time, want the thread", got)
		}
		if _, err := th.UpdateState(t.Context(), logged("late edit")); err != nil {
			t.Fatal(err)
		}
		if wake := described(t, th).Wake; wake.After(time.Now()) {
			t.Errorf("after an edit of a reserved thread it is due in %v, want now", time.Until(wake))
		}

		if _, err := th.At(res.Checkpoint).UpdateState(t.Context(), logged("fork")); err != nil {
			t.Fatal(err)
		}
		same(t, "wake after a fork", described(t, th).Wake, time.Time{})
		forked := time.Now()
		res = done(t, graph.Waiting)(th.Resume(t.Context()))
		same(t, "timers of a fork", len(res.Timers), 1)
		same(t, "wake of a fork", described(t, th).Wake.Sub(forked), day)
		time.Sleep(day)
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "fork", "nap"})
	})
}

// mustReady waits for d and reserves the threads that are due.
func mustReady(t *testing.T, s checkpoint.Saver, d time.Duration) (ids string) {
	t.Helper()
	time.Sleep(d)
	got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10, Reserve: 3 * day})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range got.Threads {
		ids += th.ID
	}
	return ids
}

func TestADrainEndsARunThatWaitsForATime(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		b := newWork()
		b.Node("nap", sleeper("nap", 10*time.Second))
		b.Edge(graph.Start, "nap")
		b.Edge("nap", graph.End)
		g := compile(t, b, graph.Saver(s), d)
		began := time.Now()
		var res result
		var err error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			res, err = g.Thread("t").Invoke(t.Context(), logged("in"))
		}()
		time.Sleep(time.Second)
		if err := g.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ended
		done(t, graph.Waiting)(res, err)
		same(t, "time", time.Since(began), time.Second)
		same(t, "wake", described(t, g.Thread("t")).Wake.Sub(began), 10*time.Second)
	})
}

func TestAContextEndsARunThatWaitsForATime(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("nap", sleeper("nap", 10*time.Second))
		b.Edge(graph.Start, "nap")
		b.Edge("nap", graph.End)
		th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := th.Invoke(ctx, logged("in")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the error of the context", err)
		}
		same(t, "wake", described(t, th).Wake.Sub(began), 10*time.Second)
		time.Sleep(9 * time.Second)
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "nap"})
	})
}

func TestConcurrentSleepersShareTheWorkersFairly(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		running, most := 0, 0
		each := graph.TaskNode(b, "each", func(ctx context.Context, _ work, in doc) (update, error) {
			if err := graph.Sleep(ctx, day); err != nil && in.Name != "busy" {
				return update{}, err
			}
			running++
			most = max(most, running)
			time.Sleep(2 * time.Minute)
			running--
			return logged(in.Name), nil
		})
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
			var next graph.Next
			for i := range 6 {
				next.Add(each.Send(doc{Name: fmt.Sprint(i)}))
			}
			return next, nil
		}, "each")
		b.Edge("each", graph.End)
		th := compile(t, b, graph.Saver(memory.New()), d, graph.Concurrency(1)).Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		time.Sleep(day)
		done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "most tasks at a time", most, 1)
	})
}
