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
)

// waitOut runs a thread to its end. It resumes the thread whenever that is due.
func waitOut(ctx context.Context, th thread) (result, error) {
	for {
		snap, err := th.State(ctx)
		var res result
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
			res, err = th.Invoke(ctx, logged("in"), graph.TakeOver())
		case err == nil:
			res, err = th.Resume(ctx, graph.TakeOver())
		}
		if err != nil || res.Status != graph.Waiting || snap.Status == graph.Done {
			return res, err
		}
		listed, err := th.Describe(ctx)
		if err != nil {
			return res, err
		}
		if listed.Wake.IsZero() {
			return res, fmt.Errorf("the thread is %s, waits for %v and %v, and has no wake", res.Status, res.Timers, res.Questions)
		}
		time.Sleep(time.Until(listed.Wake))
	}
}

// TestACrashMovesNoTimer crashes at every call of the saver, in a graph whose tasks sleep, in
// memory or not, and ask a question that expires.
func TestACrashMovesNoTimer(t *testing.T) {
	for _, asks := range []bool{false, true} {
		for _, depth := range []int{0, 1, 2} {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				synctest.Test(t, func(t *testing.T) {
					var began time.Time
					want, lasts := []string{"in", "nap", "sibling"}, day+5*time.Second
					if asks {
						want, lasts = []string{"in", "nap", "expired", "sibling"}, 2*day
					}
					everyCrashPoint(t, func(s checkpoint.Saver, l *ledger) (result, error) {
						b := newWork()
						b.Node("nap", sleeper("nap", 5*time.Second, day))
						if asks {
							b.Node("ask", expiring(2*day), refund)
							b.Edge(graph.Start, "ask")
							b.Edge("ask", graph.End)
						}
						b.Node("sibling", step(l, "sibling"))
						for _, id := range []graph.ID{"nap", "sibling"} {
							b.Edge(graph.Start, id)
							b.Edge(id, graph.End)
						}
						for range depth {
							outer := newWork()
							outer.Subgraph("sub", compile(t, b, graph.SubgraphOnly()))
							outer.Edge(graph.Start, "sub")
							outer.Edge("sub", graph.End)
							b = outer
						}
						th := compile(t, b, graph.Saver(s), d, graph.Concurrency(1)).Thread("t")
						if _, crashes := s.(*crashing); crashes {
							began = time.Now()
						}
						return waitOut(t.Context(), th)
					}, func(what string, res result) {
						same(t, what+": status", res.Status, graph.Done)
						same(t, what+": log", res.State.Log, want)
						if took := time.Since(began); took != lasts && d != graph.OnExit {
							t.Errorf("%s: it took %v, want %v", what, took, lasts)
						}
					})
				})
			})
		}
	}
}
