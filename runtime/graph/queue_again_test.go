package graph_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestTheOutcomeOfARetryAfterAStartTimeoutCounts tests rule 23.10. The first attempt fails, and
// its pause is a timer. No worker takes the second one in time. The third one succeeds.
func TestTheOutcomeOfARetryAfterAStartTimeoutCounts(t *testing.T) {
	for name, o := range map[string]graph.DueOptions{
		"first attempt of a worker": {},
		"first attempt in place":    {QueueSlot: func(string) func() { return func() {} }},
	} {
		t.Run(name, func(t *testing.T) {
			atDepths(t, func(t *testing.T, build func(checkpoint.Saver, func(*graph.Builder[work, update]), ...graph.Option) *app) {
				t.Helper()
				var attempts []int
				s := memory.New()
				g := build(s, func(b *graph.Builder[work, update]) {
					b.Node("gpu", func(ctx context.Context, _ work) (update, error) {
						n := graph.CurrentTask(ctx).Attempt
						if attempts = append(attempts, n); n == 1 {
							return update{}, graph.RetryAfter(errBroken, 2*time.Minute) // more than the lease
						}
						return logged("gpu"), nil
					}, graph.Queue("gpu"), graph.StartTimeout(time.Minute), graph.Retry(graph.RetryPolicy{Attempts: 3, Base: 2 * time.Second}))
				})
				th, p := g.Thread("t"), serving(g, s)
				if _, err := th.Submit(t.Context(), input); err != nil {
					t.Fatal(err)
				}
				waits := func(o graph.DueOptions) {
					t.Helper()
					if run, err := resumeDue(t, g, s, o); err != nil || run.Status != graph.Waiting {
						t.Fatalf("got %v, %v; want the thread waiting", run.Status, err)
					}
				}
				waits(o)
				if o.QueueSlot == nil {
					same(t, "tasks of the first attempt", p.work(t), 1)
					waits(o)
				}
				same(t, "attempts before the pause", attempts, []int{1})
				time.Sleep(time.Until(listed(t, s).Wake))
				waits(graph.DueOptions{}) // hands the second attempt out
				time.Sleep(time.Until(listed(t, s).Wake))
				waits(graph.DueOptions{}) // its StartTimeout has passed
				same(t, "tasks of the third attempt", p.work(t), 1)
				same(t, "attempts", attempts, []int{1, 3})
				run, err := resumeDue(t, g, s, graph.DueOptions{})
				if err != nil || run.Status != graph.Done {
					t.Fatalf("got %v, %v; want the thread done", run.Status, err)
				}
				same(t, "log", snapshot(t, th).State.Log, []string{"gpu"})
				same(t, "tasks left in the queue", p.work(t), 0)
			})
		})
	}
}

// TestATaskThatWasHandedOutIsNotExecutedInPlace tests rule 23.11. A run dies at each of its calls
// of the saver, also between a hand-out and the note of it. The next run could have a slot, and a
// worker of the queue executes the task at that moment.
func TestATaskThatWasHandedOutIsNotExecutedInPlace(t *testing.T) {
	atDepths(t, func(t *testing.T, build func(checkpoint.Saver, func(*graph.Builder[work, update]), ...graph.Option) *app) {
		t.Helper()
		for _, after := range []bool{false, true} {
			for at, died := 1, true; died; at++ {
				var ran atomic.Int32
				declare := func(b *graph.Builder[work, update]) {
					b.Node("gpu", countedRuns(&ran, say("gpu")), graph.Queue("gpu"))
				}
				s := memory.New()
				g := build(s, declare)
				p, th := serving(g, s), g.Thread("t")
				if _, err := th.Submit(t.Context(), input); err != nil {
					t.Fatal(err)
				}
				_, err := resumeDue(t, build(&crashing{Saver: s, left: at, after: after}, declare), s, graph.DueOptions{})
				died = err != nil
				slot := func(string) func() { p.work(t); return func() {} }
				time.Sleep(2 * time.Minute) // the lease of the dead run ends
				for until := time.Now().Add(3 * time.Hour); time.Now().Before(until); time.Sleep(time.Minute) {
					if len(ready(t, s)) > 0 {
						if _, err := resumeDue(t, g, s, graph.DueOptions{QueueSlot: slot}); err != nil {
							t.Fatal(err)
						}
					}
					p.work(t)
				}
				where := fmt.Sprintf("crash at call %d, after %t", at, after)
				same(t, "status: "+where, listed(t, s).Status, graph.Done)
				same(t, "runs of the node: "+where, ran.Load(), int32(1))
			}
		}
	})
}

// TestAResumedRunExecutesLaterTasksInPlace tests rule 23.11. Only the superstep that was due
// before the run may have been handed out. Supersteps after it are new, also in subgraphs.
func TestAResumedRunExecutesLaterTasksInPlace(t *testing.T) {
	for name, nested := range map[string]bool{"in the graph": false, "in a subgraph": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := memory.New(), newWork()
				b.Node("sleep", func(ctx context.Context, _ work) (update, error) {
					return logged("sleep"), graph.Sleep(ctx, time.Hour)
				})
				nodes := []graph.ID{"gpu1", "gpu2"}
				inner := newWork()
				if !nested {
					inner = b
				}
				for _, id := range nodes {
					inner.Node(id, say(string(id)), graph.Queue("gpu"))
				}
				if nested {
					b.Subgraph("sub", compile(t, line(inner, nodes...), graph.SubgraphOnly()))
					nodes = []graph.ID{"sub"}
				}
				g := compile(t, line(b, slices.Concat([]graph.ID{"sleep"}, nodes)...), graph.Saver(s))
				done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
				time.Sleep(time.Hour)
				run, err := resumeDue(t, g, s, graph.DueOptions{QueueSlot: func(string) func() { return func() {} }})
				if err != nil || run.Status != graph.Done {
					t.Errorf("got %v, %v; want the thread done", run.Status, err)
				}
				same(t, "log", snapshot(t, g.Thread("t")).State.Log, []string{"sleep", "gpu1", "gpu2"})
			})
		})
	}
}
