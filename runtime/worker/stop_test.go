package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// unanswered is a saver whose first write that ends a run gets no answer until answer is closed.
// The write is stored.
type unanswered struct {
	*memory.Saver
	waited atomic.Bool
	answer chan struct{}
}

func (u *unanswered) wait(ends bool) {
	if ends && !u.waited.Swap(true) {
		<-u.answer
	}
}

func (u *unanswered) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := u.Saver.Append(ctx, a)
	u.wait(a.End)
	return done, err
}

func (u *unanswered) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	done, err := u.Saver.PutWrites(ctx, p)
	u.wait(p.End)
	return done, err
}

// TestAWorkerThatStopsLeavesTheEndsOfRuns stops a worker while the last write of a run is stored
// and has no answer. The next worker finds the thread as the run left it.
func TestAWorkerThatStopsLeavesTheEndsOfRuns(t *testing.T) {
	fail := func(context.Context, Job) (JobUpdate, error) { return JobUpdate{}, errBroken }
	sleep := func(ctx context.Context, _ Job) (JobUpdate, error) { return JobUpdate{}, graph.Sleep(ctx, time.Hour) }
	for want, run := range map[graph.Status]node{
		graph.Done: say("a"), graph.Paused: say("a"), graph.Failed: fail, graph.Waiting: sleep,
	} {
		for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.OnExit} {
			t.Run(want.String()+" "+d.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &unanswered{Saver: memory.New(), answer: make(chan struct{})}
					defer close(s.answer)
					submit(t, s.Saver, "orders", "t")
					opts := []graph.Option{graph.Saver(s), d, graph.HotThreads(0)}
					if want == graph.Paused {
						opts = append(opts, graph.InterruptAfter("n0"))
					}
					o := worker.Options{Retry: graph.RetryPolicy{Attempts: 1}}
					w := start(t, s, o, lineOf(t, "orders", []node{run}, opts...))
					synctest.Wait()
					before := listed(t, s, "t")
					if err := w.stop(); err == nil || before.Status != want {
						t.Fatalf("got the thread %s and %v, want it %s, and an error of the run without an answer", before.Status, err, want)
					}
					next := start(t, s, o, lineOf(t, "orders", []node{run}, opts...))
					synctest.Wait()
					if after := listed(t, s, "t"); after.Status != want || after.Head != before.Head || !after.Wake.Equal(before.Wake) {
						t.Errorf("got the thread %s due at %v, want it %s and due at %v", after.Status, after.Wake, want, before.Wake)
					}
					if err := next.stop(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
