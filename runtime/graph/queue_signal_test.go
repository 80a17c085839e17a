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
		s := memory.New()
		g := queued(t, node, s, nil, payment)
		p := serving(g, s)

		before := g.Thread("before")
		send(t, before, "1", "2", "3")
		res := done(t, graph.Done)(p.invoke(t, before))
		same(t, "log", res.State.Log, []string{"a", "gpu 1", "gpu 2", "z"})
		same(t, "executions", runs.Load(), int32(3))

		later := g.Thread("later")
		send(t, later, "1")
		res = done(t, graph.Waiting)(p.invoke(t, later))
		same(t, "signals that the thread waits for", len(res.Signals), 1)
		send(t, later, "2")
		res = done(t, graph.Done)(p.resume(t, later))
		same(t, "log of a signal that came later", res.State.Log, []string{"a", "gpu 1", "gpu 2", "z"})

		never := g.Thread("never")
		done(t, graph.Waiting)(p.invoke(t, never))
		time.Sleep(2 * time.Hour)
		send(t, never, "late")
		res = done(t, graph.Done)(p.resume(t, never))
		same(t, "log of a signal after the end of the first wait", res.State.Log, []string{"a", "gpu expired", "gpu late", "z"})
	})
}

// TestSendsToAQueueReceiveInSubgraphs has each task of a queue receive one signal.
func TestSendsToAQueueReceiveInSubgraphs(t *testing.T) {
	eachQueueNesting(t, func(t *testing.T, build func(checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
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
			s := memory.New()
			g := build(s, node, payment)
			p, th := serving(g, s), g.Thread("t")
			send(t, th, "1")
			res := done(t, graph.Waiting)(p.invoke(t, th))
			for sent := '2'; res.Status == graph.Waiting; sent++ {
				send(t, th, wire.String(sent))
				var err error
				if res, err = p.resume(t, th); err != nil {
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
			s := memory.New()
			opts := []graph.Option{graph.Lease(time.Hour)}
			p := serving(queued(t, node, s, opts, payment), s)
			th := queued(t, node, s, opts, payment).Thread("t")
			send(t, th, "1", "2", "3")
			_, err := p.invoke(t, queued(t, node, crashingInbox{&crashing{Saver: s, left: at, after: after}}, opts, payment).Thread("t"))
			res, again := p.resume(t, th, graph.TakeOver())
			if errors.Is(again, checkpoint.ErrNotFound) {
				res, again = p.invoke(t, th)
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
