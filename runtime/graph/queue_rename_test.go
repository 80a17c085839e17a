package graph_test

import (
	"context"
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
		var runs int // the version whose run waits for the task
		q := &lossy{do: func(ctx context.Context, task graph.QueuedTask) error {
			if err := apps[1-runs].RunQueued(ctx, task); !errors.Is(err, graph.ErrGraphChanged) {
				t.Errorf("a worker of version %d: got %v, want ErrGraphChanged", 1-runs, err)
			}
			if runs == 0 {
				<-ctx.Done() // the old version has no worker any more
				return ctx.Err()
			}
			return apps[runs].RunQueued(ctx, task)
		}}
		version := func(i int, node graph.ID, opts ...graph.NodeOption) *app {
			b := newWork()
			b.Node("a", say("a"))
			b.Node(node, countedRuns(&ran[i], say(string(node))), append(opts, graph.Queue("gpu"))...)
			b.Node("z", say("z"))
			return compile(t, line(b, "a", node, "z"), graph.Saver(s), graph.Queues(q))
		}
		apps[0], apps[1] = version(0, "ship"), version(1, "pack", graph.FormerIDs("ship"))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := apps[0].Thread("t").Invoke(ctx, input); err == nil {
			t.Fatal("the run of the old version ended without an error")
		}
		same(t, "executions by the new version for the old one", ran[1].Load(), int32(0))
		runs = 1
		res := done(t, graph.Done)(apps[1].Thread("t").Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "pack", "z"})
		same(t, "executions by the old version", ran[0].Load(), int32(0))
		same(t, "executions by the new version", ran[1].Load(), int32(1))
	})
}
