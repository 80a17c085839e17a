package graph_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestARenamedNodeOfAQueueRunsWhereItsRunIs: the old and the new version of a graph share a thread
// and a queue. A worker runs a task only for a run of a version that has its node by the same id:
// rule 23.6.
func TestARenamedNodeOfAQueueRunsWhereItsRunIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var ran [2]atomic.Int32 // by version
		var apps [2]*app
		version := func(i int, node graph.ID, opts ...graph.NodeOption) *app {
			b := newWork()
			b.Node("a", say("a"))
			b.Node(node, countedRuns(&ran[i], say(string(node))), append(opts, graph.Queue("gpu"))...)
			b.Node("z", say("z"))
			return compile(t, line(b, "a", node, "z"), graph.Saver(s))
		}
		apps[0], apps[1] = version(0, "ship"), version(1, "pack", graph.FormerIDs("ship"))

		leaves := func(i int) {
			t.Helper()
			if err := apps[i].RunQueued(t.Context(), serving(apps[i], s).only(t), false); !errors.Is(err, graph.ErrGraphChanged) {
				t.Errorf("a worker of version %d: got %v, want ErrGraphChanged", i, err)
			}
			time.Sleep(2 * time.Minute) // the task waits again
		}
		done(t, graph.Waiting)(apps[0].Thread("t").Invoke(t.Context(), input))
		leaves(1)
		same(t, "executions by the new version for the old one", ran[1].Load(), int32(0))
		for _, task := range serving(apps[0], s).waiting(t) { // the old version has no worker any more
			if err := s.Delete(t.Context(), task.thread); err != nil {
				t.Fatal(err)
			}
		}
		done(t, graph.Waiting)(apps[1].Thread("t").Resume(t.Context()))
		leaves(0)
		res := done(t, graph.Done)(serving(apps[1], s).resume(t, apps[1].Thread("t")))
		same(t, "log", res.State.Log, []string{"a", "pack", "z"})
		same(t, "executions by the old version", ran[0].Load(), int32(0))
		same(t, "executions by the new version", ran[1].Load(), int32(1))
	})
}

// TestATaskOfAFormerIDIsHandedOutAgain: the process that handed a task out gave the thread up, and
// all workers have the newer version. The thread must not wait for the hour of rule 23.7.
func TestATaskOfAFormerIDIsHandedOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		version := func(node graph.ID, opts ...graph.NodeOption) *app {
			b := newWork()
			b.Node(node, say(string(node)), append(opts, graph.Queue("gpu"))...)
			return compile(t, line(b, node), graph.Saver(s))
		}
		older, newer := version("ship"), version("pack", graph.FormerIDs("ship"))
		submit(t, older.Thread("t"), "one")
		gaveUp := func(g *app) (task []byte) {
			t.Helper()
			if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Waiting {
				t.Fatalf("got %s, %v; want that the run ends while the task waits", run.Status, err)
			}
			for _, one := range serving(g, s).waiting(t) {
				task = one.payload
			}
			return task
		}
		task := gaveUp(older)
		if err := newer.RunQueued(t.Context(), task, false); !errors.Is(err, graph.ErrGraphChanged) {
			t.Errorf("the task of the old version: got %v, want ErrGraphChanged", err)
		}
		task = gaveUp(newer) // it is due
		if err := older.RunQueued(t.Context(), task, false); !errors.Is(err, graph.ErrGraphChanged) {
			t.Errorf("the task of the new version: got %v, want ErrGraphChanged", err)
		}
		same(t, "due after a worker of the old version has left the task", len(ready(t, s)), 0)
		if err := newer.RunQueued(t.Context(), task, false); err != nil {
			t.Fatal(err)
		}
		run, err := resumeDue(t, newer, s, graph.DueOptions{})
		if err != nil || run.Status != graph.Done {
			t.Fatalf("got %s, %v; want the thread done", run.Status, err)
		}
		same(t, "log", snapshot(t, newer.Thread("t")).State.Log, []string{"one", "pack"})
	})
}
