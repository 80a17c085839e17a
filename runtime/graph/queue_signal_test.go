package graph_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestANodeOfAQueueReceives tests rule 23.5: signals that came before the node, while it waits,
// and never.
func TestANodeOfAQueueReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		node := countedRuns(&runs, receives("gpu", []graph.ReceiveOption{graph.ExpireAfter(time.Hour)}, "", ""))
		g := queued(t, node, memory.New(), nil, payment)
		serving(t, g, 2)

		before := g.Thread("before")
		send(t, before, "1", "2", "3")
		res := done(t, graph.Done)(before.Invoke(t.Context(), input))
		same(t, "log", res.State.Log, []string{"a", "gpu 1", "gpu 2", "z"})
		same(t, "executions", runs.Load(), int32(3))

		later := g.Thread("later")
		send(t, later, "1")
		res = done(t, graph.Waiting)(later.Invoke(t.Context(), input))
		same(t, "signals that the thread waits for", len(res.Signals), 1)
		send(t, later, "2")
		res = done(t, graph.Done)(later.Resume(t.Context()))
		same(t, "log of a signal that came later", res.State.Log, []string{"a", "gpu 1", "gpu 2", "z"})

		never := g.Thread("never")
		done(t, graph.Waiting)(never.Invoke(t.Context(), input))
		time.Sleep(2 * time.Hour)
		send(t, never, "late")
		res = done(t, graph.Done)(never.Resume(t.Context()))
		same(t, "log of a signal after the end of the first wait", res.State.Log, []string{"a", "gpu expired", "gpu late", "z"})
	})
}

// TestSendsToAQueueReceiveInSubgraphs has each task of a queue receive one signal.
func TestSendsToAQueueReceiveInSubgraphs(t *testing.T) {
	eachQueueNesting(t, func(t *testing.T, build func(graph.TaskQueue, checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			node := func(ctx context.Context, _ work, name wire.String) (update, error) {
				s, err := payment.Receive(ctx)
				if err != nil {
					return update{}, err
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, string(s))
				return logged(string(name)), nil
			}
			g := build(new(graph.LocalQueue), memory.New(), node, payment)
			serving(t, g, 2)
			th := g.Thread("t")
			send(t, th, "1")
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
			for sent := '2'; res.Status == graph.Waiting; sent++ {
				send(t, th, wire.String(sent))
				var err error
				if res, err = th.Resume(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			same(t, "log", res.State.Log, log)
			slices.Sort(got)
			if len(got) != len(slices.Compact(slices.Clone(got))) || got[0] != "1" {
				t.Errorf("received %q, want each signal once, from the first", got)
			}
		})
	})
}

// TestACrashOfTheHolderLosesNoSignalOfAQueue kills the process of the thread at each of its calls
// of the saver. Each signal is received once.
func TestACrashOfTheHolderLosesNoSignalOfAQueue(t *testing.T) {
	node := receives("gpu", nil, "", "")
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			s, q := memory.New(), new(graph.LocalQueue)
			opts := []graph.Option{graph.Queues(q), graph.Lease(time.Hour)}
			serving(t, queued(t, node, s, opts, payment), 1)
			th := queued(t, node, s, opts, payment).Thread("t")
			send(t, th, "1", "2", "3")
			_, err := queued(t, node, crashingInbox{&crashing{Saver: s, left: at, after: after}}, opts, payment).Thread("t").Invoke(t.Context(), input)
			res, again := th.Resume(t.Context(), graph.TakeOver())
			if errors.Is(again, checkpoint.ErrNotFound) {
				res, again = th.Invoke(t.Context(), input)
			}
			if again != nil || res.Status != graph.Done {
				t.Fatalf("crash at call %d, after %t: got %v and %v, want the run done", at, after, res.Status, again)
			}
			same(t, "log", res.State.Log, []string{"a", "gpu 1", "gpu 2", "z"})
			if err == nil {
				break
			}
		}
	}
}
