package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// losing makes the Append that a run ends on, and loses its answer.
type losing struct{ checkpoint.Saver }

func (l losing) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := l.Saver.Append(ctx, a)
	if err == nil && a.End {
		return checkpoint.AppendResult{}, errCrash
	}
	return done, err
}

// The last commit is stored, though the run does not know: what it says of the thread stands.
func TestALastCommitWhoseAnswerIsLostKeepsItsStatus(t *testing.T) {
	for want, opts := range map[checkpoint.Status][]graph.Option{
		checkpoint.Done:   nil,
		checkpoint.Paused: {graph.InterruptBefore("b")},
	} {
		s := memory.New()
		th := compile(t, chain("a", "b"), append(opts, graph.Saver(losing{s}))...).Thread("t")
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errCrash) {
			t.Fatalf("got %v, want the lost answer", err)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if snap.Status != want {
			t.Errorf("got the thread %s, want it %s", snap.Status, want)
		}
		again := compile(t, chain("a", "b"), append(opts, graph.Saver(s))...).Thread("t")
		res := done(t, graph.Done)(again.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "b"})
	}
}

// unheard is losing, also for the writes without a record.
type unheard struct{ losing }

func (l unheard) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	done, err := l.losing.PutWrites(ctx, w)
	if err == nil && w.End {
		err = errCrash
	}
	return done, err
}

// The last write of a run is stored, though the run does not know. The run gives its lease up, and
// the thread is due when that write says.
func TestALastWriteWhoseAnswerIsLostKeepsWhenItsThreadIsDue(t *testing.T) {
	run := func(t *testing.T, lost bool, in func(context.Context, thread) error, opts []graph.Option, node []graph.NodeOption) checkpoint.Thread {
		t.Helper()
		var s checkpoint.Saver = memory.New()
		if lost {
			s = unheard{losing{s}}
		}
		var th thread
		b := newWork()
		b.Node("a", func(ctx context.Context, _ work) (update, error) { return logged("a"), in(ctx, th) }, node...)
		b.Node("b", say("b"))
		th = compile(t, line(b, "a", "b"), append(opts, graph.Saver(s))...).Thread("t")
		if _, err := th.Invoke(t.Context(), input, graph.ExecutionTimeout(2*day)); errors.Is(err, errCrash) != lost {
			t.Fatalf("got %v, want the lost answer: %t", err, lost)
		}
		return described(t, th)
	}
	nothing := func(context.Context, thread) error { return nil }
	for name, end := range map[string]struct {
		in   func(context.Context, thread) error // node "a"
		opts []graph.Option
		node []graph.NodeOption
	}{
		"a drain": {in: func(ctx context.Context, th thread) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_ = th.Drain(ctx) // it does not wait
			return nil
		}},
		"another input": {in: func(ctx context.Context, th thread) error {
			_, err := th.Submit(context.WithoutCancel(ctx), logged("more"))
			return err
		}},
		"a stop with a deadline": {in: nothing, opts: []graph.Option{graph.InterruptBefore("b")}},
		"a timer":                {in: func(ctx context.Context, _ thread) error { return graph.Sleep(ctx, day) }},
		"a queue":                {in: nothing, node: []graph.NodeOption{graph.Queue("q")}},
		"a queue with a limit":   {in: nothing, node: []graph.NodeOption{graph.Queue("q"), graph.StartTimeout(time.Minute)}},
	} {
		eachDurability(t, func(t *testing.T, d graph.Durability) {
			if len(end.node) > 0 && d != graph.Sync {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				opts := append(end.opts, d)
				want, got := run(t, false, end.in, opts, end.node), run(t, true, end.in, opts, end.node)
				if got.Status != want.Status || !got.Wake.Equal(want.Wake) {
					t.Errorf("%s: got the thread %s, due at %v; want it %s, due at %v", name, got.Status, got.Wake, want.Status, want.Wake)
				}
			})
		})
	}
}

// A person's run fails, and the answer to its last write is lost. Messages that an earlier run has
// taken do not make the thread due: no worker repeats the run.
func TestAFailedRunWhoseAnswerIsLostIsNotDueForOldMessages(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s, fails := memory.New(), false
		on := func(s checkpoint.Saver) *app {
			b := newWork()
			b.Node("a", func(context.Context, work) (update, error) {
				if fails {
					return update{}, errBroken
				}
				return logged("a"), nil
			})
			return compile(t, line(b, "a"), graph.Saver(s), d)
		}
		g := on(s)
		submit(t, g.Thread("t"), "in")
		same(t, "runs of the worker", serve(t, g, s), 1)
		fails = true
		if _, err := on(unheard{losing{s}}).Thread("t").Invoke(t.Context(), input); !errors.Is(err, errBroken) || !errors.Is(err, errCrash) {
			t.Fatalf("got %v, want the failure and the lost answer", err)
		}
		if got := described(t, g.Thread("t")); got.Status != graph.Failed || !got.Wake.IsZero() {
			t.Errorf("got the thread %s, due at %v; want it failed, and not due", got.Status, got.Wake)
		}
	})
}

// A child that a person resumed is done, and the run does not know. A worker reports its end.
func TestAChildWhoseLastCommitLosesItsAnswerReportsItsEnd(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			f := familyOn(t, s, say("worked"), nil)
			done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
			kid := func(s checkpoint.Saver) *app {
				b := graph.New("child", teststate.WorkSchema)
				b.Node("work", say("worked"))
				return compile(t, line(b, "work"), graph.Saver(s), graph.InterruptBefore("work"), d)
			}
			found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"child"}, Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if run, err := kid(s).ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); err != nil || run.Status != graph.Paused {
				t.Fatalf("got %+v, %v; want the child to stop", run, err)
			}
			if _, err := kid(losing{s}).Thread("kid").Resume(t.Context()); !errors.Is(err, errCrash) {
				t.Fatalf("got %v, want the lost answer", err)
			}
			time.Sleep(2 * checkpoint.DefaultLease)
			f.work(t)
			same(t, "status of the caller", f.status(t, f.parent, "p"), graph.Done)
		})
	})
}

// The choice of a pending route is the run's last commit here, and its reply is lost. The thread
// is done, and stays so.
func TestAPendingRouteWhoseLastCommitLosesItsReplyLeavesTheThreadDone(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("a", say("a"))
		b.Edge(graph.Start, "a")
		b.Route("a", choose(graph.End), graph.End)
		s := memory.New()
		opts := []graph.Option{d, graph.InterruptAfter("a"), graph.BeforeRoute()}
		th := compile(t, b, append(opts, graph.Saver(s))...).Thread("t")
		done(t, graph.Paused)(th.Invoke(t.Context(), input))
		if _, err := compile(t, b, append(opts, graph.Saver(losing{s}))...).Thread("t").Resume(t.Context()); !errors.Is(err, errCrash) {
			t.Fatalf("got %v, want the lost answer", err)
		}
		done(t, graph.Done)(th.Resume(t.Context()))
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status", snap.Status.String(), checkpoint.Done.String())
		same(t, "log", snap.State.Log, []string{"a"})
	})
}

// noChildren fails what subgraphs append.
type noChildren struct{ checkpoint.Saver }

func (n noChildren) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Namespace != "" {
		return checkpoint.AppendResult{}, errCrash
	}
	return n.Saver.Append(ctx, a)
}

// slow is say, a second later.
func slow(name string, seconds int) func(context.Context, work) (update, error) {
	return func(context.Context, work) (update, error) {
		time.Sleep(time.Duration(seconds) * time.Second) // in a bubble
		return logged(name), nil
	}
}

// A subgraph that loses a race gets the error that the queue of an Async run broke. The final
// status cannot be stored either, and the run returns that error.
func TestABrokenQueueIsAnErrorOfTheRunAlthoughItsSubgraphGotTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child := newWork()
		for _, id := range []graph.ID{"x", "y", "z"} {
			child.Node(id, slow(string(id), 1))
		}
		b := newWork()
		b.Subgraph("sub", compile(t, line(child, "x", "y", "z"), graph.SubgraphOnly()))
		b.Node("plain", slow("plain", 10))
		b.Edge(graph.Start, "sub")
		b.Edge(graph.Start, "plain")
		b.JoinAny([]graph.ID{"sub", "plain"}, "after")
		b.Node("after", say("after"))
		b.Edge("after", graph.End)
		s := memory.New()
		th := compile(t, b, graph.Saver(noChildren{s}), graph.InterruptBefore("after"), graph.Async).Thread("t")
		res, err := th.Invoke(t.Context(), input)
		if !errors.Is(err, errCrash) {
			t.Errorf("got %v and the run %s, want the write that failed", err, res.Status)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "checkpoint", res.Checkpoint, snap.Checkpoint)
		same(t, "due", res.Next, snap.Next)
		done(t, graph.Paused)(compile(t, b, graph.Saver(s), graph.InterruptBefore("after")).Thread("t").Resume(t.Context()))
	})
}
