package graph_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// handedOut makes thread "t" wait for its task in a queue, and returns the task.
func handedOut(t *testing.T, s checkpoint.Saver, node func(context.Context, work) (update, error)) (*app, []byte) {
	t.Helper()
	g := queued(t, node, s, nil)
	if _, err := g.Thread("t").Submit(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	run, err := resumeDue(t, g, s, graph.DueOptions{})
	if err != nil || run.Status != graph.Waiting {
		t.Fatalf("got %s, %v; want that the run ends while the task waits", run.Status, err)
	}
	return g, serving(g, s).only(t)
}

// TestATaskOfACancelledThreadDoesNotRun tests rule 23.8.
func TestATaskOfACancelledThreadDoesNotRun(t *testing.T) {
	for name, ends := range map[string]bool{"before a run takes the cancel": false, "after a run has taken it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				var calls atomic.Int32
				g, task := handedOut(t, s, countedRuns(&calls, say("gpu")))
				if err := g.Thread("t").Cancel(t.Context(), "enough"); err != nil {
					t.Fatal(err)
				}
				if ends {
					if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Cancelled {
						t.Fatalf("got %s, %v; want the thread cancelled", run.Status, err)
					}
				}
				if err := g.RunQueued(t.Context(), task, false); err != nil {
					t.Error(err)
				}
				same(t, "calls of the node", calls.Load(), int32(0))
			})
		})
	}
}

// TestATaskOfACancelledThreadRunsAfterAResume: a worker that leaves the task of a cancelled thread
// takes nothing from the run that continues the thread.
func TestATaskOfACancelledThreadRunsAfterAResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g, _ := handedOut(t, s, say("gpu"))
		p, th := serving(g, s), g.Thread("t")
		time.Sleep(2 * time.Minute) // the task waits again
		if err := th.Cancel(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Cancelled {
			t.Fatalf("got %s, %v; want the thread cancelled", run.Status, err)
		}
		same(t, "tasks of the cancelled thread", p.work(t), 1)
		same(t, "tasks that are left", p.work(t), 0)
		res := done(t, graph.Done)(p.resume(t, th))
		same(t, "log", res.State.Log[len(res.State.Log)-2:], []string{"gpu", "z"})
	})
}

// TestACopyOfAThreadHandsItsTasksOut copies a thread that waits for a task to another saver.
func TestACopyOfAThreadHandsItsTasksOut(t *testing.T) {
	there := memory.New()
	s := memory.New()
	handedOut(t, s, say("gpu"))
	if err := there.Import(t.Context(), "t", s.Export(t.Context(), "t", 0)); err != nil {
		t.Fatal(err)
	}
	g := queued(t, say("gpu"), there, nil)
	res := done(t, graph.Done)(serving(g, there).resume(t, g.Thread("t")))
	same(t, "log", res.State.Log[len(res.State.Log)-2:], []string{"gpu", "z"})
}

// TestAWorkerThatKeepsASuperstepLearnsOfItsCancel has a worker that has run another task of the
// superstep, so it reads the superstep no more (rule 23.8).
func TestAWorkerThatKeepsASuperstepLearnsOfItsCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b, calls := newWork(), new(atomic.Int32)
		for _, id := range []graph.ID{"one", "two"} {
			b.Node(id, countedRuns(calls, say(string(id))), graph.Queue("gpu"))
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		g := compile(t, b, graph.Saver(s))
		submit(t, g.Thread("t"), "in")
		if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Waiting {
			t.Fatalf("got %s, %v; want that the run ends while the tasks wait", run.Status, err)
		}
		tasks := serving(g, s).waiting(t)
		if err := g.RunQueued(t.Context(), tasks[0].payload, false); err != nil {
			t.Fatal(err)
		}
		if err := g.Thread("t").Cancel(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // the worker looks again after a second
		if err := g.RunQueued(t.Context(), tasks[1].payload, false); err != nil {
			t.Error(err)
		}
		same(t, "calls of the nodes", calls.Load(), int32(1))
	})
}

// TestACancelEndsATaskThatNoRunWaitsFor tests rule 23.8.
func TestACancelEndsATaskThatNoRunWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		stopped := false
		g, task := handedOut(t, s, func(ctx context.Context, _ work) (update, error) {
			select {
			case <-ctx.Done():
				stopped = true
			case <-time.After(2 * time.Hour):
			}
			return update{}, ctx.Err()
		})
		time.AfterFunc(time.Hour, func() {
			if err := g.Thread("t").Cancel(t.Context(), "enough"); err != nil {
				t.Error(err)
			}
		})
		if err := g.RunQueued(t.Context(), task, false); err != nil || !stopped {
			t.Errorf("got %v, the node stopped: %t; want that the node has stopped", err, stopped)
		}
	})
}

// TestAnOutcomeMakesAThreadDueThatWaitsForIt tests rule 23.7.
func TestAnOutcomeMakesAThreadDueThatWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g, task := handedOut(t, s, say("gpu"))
		if due := ready(t, s); len(due) != 0 {
			t.Errorf("before the outcome: got %v due, want nothing", due)
		}
		for range 2 { // the second time as after the death of the worker
			if err := g.RunQueued(t.Context(), task, false); err != nil {
				t.Fatal(err)
			}
		}
		if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Done {
			t.Errorf("got %s, %v; want the thread done", run.Status, err)
		}
	})
}

// lateEnd stores an outcome before the write that ends a run.
type lateEnd struct {
	checkpoint.Saver
	before func()
}

func (l *lateEnd) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if before := l.before; w.End && before != nil {
		l.before = nil
		before()
	}
	return l.Saver.PutWrites(ctx, w)
}

// TestAnOutcomeThatComesBeforeTheEndOfTheRunIsNotLost tests rule 23.7.
func TestAnOutcomeThatComesBeforeTheEndOfTheRunIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &lateEnd{Saver: memory.New()}
		g := queued(t, say("gpu"), s, nil)
		if _, err := g.Thread("t").Submit(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		s.before = func() {
			if err := g.RunQueued(context.Background(), serving(g, s).only(t), false); err != nil {
				t.Error(err)
			}
		}
		if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Waiting {
			t.Fatalf("got %s, %v; want that the run ends while the task waits", run.Status, err)
		}
		if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Done {
			t.Errorf("got %s, %v; want the thread done", run.Status, err)
		}
	})
}

// TestTasksAreHandedOutWhileTheRunExecutesOthers tests rule 23.7: the run ends with its own tasks.
func TestTasksAreHandedOutWhileTheRunExecutesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memory.New(), newWork()
		b.Node("gpu", say("gpu"), graph.Queue("gpu"))
		b.Node("long", func(context.Context, work) (update, error) {
			time.Sleep(time.Hour)
			return logged("long"), nil
		})
		for _, id := range []graph.ID{"gpu", "long"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		g := compile(t, b, graph.Saver(s))
		if _, err := g.Thread("t").Submit(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() {
			if n := serving(g, s).work(t); n != 1 {
				t.Errorf("got %d tasks while the run executes another one, want 1", n)
			}
		})
		began := time.Now()
		for _, want := range []graph.Status{graph.Waiting, graph.Done} {
			if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != want {
				t.Errorf("got %s, %v; want %s", run.Status, err, want)
			}
		}
		same(t, "time of the runs", time.Since(began), time.Hour)
	})
}

// TestTheLoserOfARaceEnds tests rule 23.8: one task of a race is still running when another one
// has won, and the thread continues.
func TestTheLoserOfARaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, stopped := memory.New(), newWork(), false
		b.Node("fast", say("fast"), graph.Queue("gpu"))
		b.Node("slow", func(ctx context.Context, _ work) (update, error) {
			select {
			case <-ctx.Done():
				stopped = true
			case <-time.After(2 * time.Hour):
			}
			return update{}, ctx.Err()
		}, graph.Queue("gpu"))
		b.Node("z", say("z"))
		for _, id := range []graph.ID{"fast", "slow"} {
			b.Edge(graph.Start, id)
		}
		b.JoinAny([]graph.ID{"fast", "slow"}, "z")
		b.Edge("z", graph.End)
		g := compile(t, b, graph.Saver(s))
		done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
		time.AfterFunc(time.Hour, func() {
			if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Done {
				t.Errorf("got %s, %v; want the thread done", run.Status, err)
			}
		})
		began := time.Now()
		same(t, "tasks", serving(g, s).work(t), 2)
		if took := time.Since(began); !stopped || took > time.Hour+2*time.Second {
			t.Errorf("the loser stopped: %t, after %s; want that it stops when the thread continues", stopped, took)
		}
	})
}

// leaveBranch are calls after which a thread has left the branch of its due tasks.
var leaveBranch = map[string]func(t *testing.T, g *app, s checkpoint.Saver, first result){
	"an input with DiscardPending": func(t *testing.T, g *app, s checkpoint.Saver, _ result) {
		t.Helper()
		submit(t, g.Thread("t"), "stay", graph.DiscardPending())
		if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Done {
			t.Errorf("got %s, %v; want the new input done", run.Status, err)
		}
	},
	"an edit with Goto": func(t *testing.T, g *app, _ checkpoint.Saver, _ result) {
		t.Helper()
		if _, err := g.Thread("t").UpdateState(t.Context(), logged("edited"), graph.Goto(graph.To("z"))); err != nil {
			t.Error(err)
		}
	},
	"an edit of an older checkpoint": func(t *testing.T, g *app, _ checkpoint.Saver, first result) {
		t.Helper()
		older := snapshot(t, g.Thread("t").At(first.Checkpoint)).Parent
		if _, err := g.Thread("t").At(older).UpdateState(t.Context(), logged("edited")); err != nil {
			t.Error(err)
		}
	},
}

// TestATaskOfABranchThatWasLeftDoesNotRun tests rule 23.8: it does not begin, its context ends,
// and it runs again when its branch continues.
func TestATaskOfABranchThatWasLeftDoesNotRun(t *testing.T) {
	for name, leave := range leaveBranch {
		for _, nested := range []bool{false, true} {
			for _, begun := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, nested %t, begun %t", name, nested, begun), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { leavesQueued(t, leave, nested, begun) })
				})
			}
		}
	}
}

// headLoads is a saver that counts the loads of heads, with their states.
type headLoads struct {
	*memory.Saver
	loads atomic.Int32
}

func (s *headLoads) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if p.At.IsZero() {
		s.loads.Add(1)
	}
	return s.Saver.Load(ctx, p)
}

func leavesQueued(t *testing.T, leave func(*testing.T, *app, checkpoint.Saver, result), nested, begun bool) {
	t.Helper()
	s, b, calls, ended := &headLoads{Saver: memory.New()}, newWork(), 0, 0
	slow := func(ctx context.Context, _ work) (update, error) {
		if calls++; !begun || calls > 1 {
			return logged("gpu"), nil
		}
		select {
		case <-ctx.Done():
			ended++
		case <-time.After(2 * time.Hour):
		}
		return update{}, ctx.Err()
	}
	if nested {
		inner := newWork()
		inner.Node("slow", slow, graph.Queue("gpu"))
		b.Subgraph("gpu", compile(t, line(inner, "slow"), graph.SubgraphOnly()))
	} else {
		b.Node("gpu", slow, graph.Queue("gpu"))
	}
	b.Node("a", say("a"))
	b.Node("z", say("z"))
	b.Edge(graph.Start, "a")
	b.Route("a", func(_ context.Context, w work) (graph.Next, error) {
		if slices.Contains(w.Log, "stay") {
			return graph.To(graph.End), nil
		}
		return graph.To("gpu"), nil
	}, "gpu", graph.End)
	b.Edge("gpu", "z")
	b.Edge("z", graph.End)
	g := compile(t, b, graph.Saver(s))
	th, p := g.Thread("t"), serving(g, s)
	first := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
	var leaving sync.WaitGroup
	leaving.Go(func() {
		if begun {
			time.Sleep(time.Hour)
		}
		leave(t, g, s, first)
	})
	if !begun {
		leaving.Wait()
	}
	began := time.Now()
	s.loads.Store(0)
	same(t, "tasks", p.work(t), 1)
	if !nested && !begun {
		same(t, "loads of the head by the worker", s.loads.Load(), int32(0))
	}
	leaving.Wait()
	if took := time.Since(began); begun && took > time.Hour+2*time.Second || calls != ended {
		t.Errorf("the node ran %d times, of which %d ended with their context, after %s; want that it stops", calls, ended, took)
	}
	res := done(t, graph.Done)(p.resume(t, th.At(first.Checkpoint)))
	same(t, "log of the branch that continues", res.State.Log, []string{"in", "a", "gpu", "z"})
	same(t, "calls that were not stopped", calls-ended, 1)
}
