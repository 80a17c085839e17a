package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// notebook is an Observer that keeps its events.
type notebook struct {
	mu    sync.Mutex
	lines []string
}

func (n *notebook) Observe(_ context.Context, o graph.RunEvent) {
	line := fmt.Sprintf("%v%v %d", o.Path, o.Kind, o.Step)
	switch o.Kind {
	case graph.EventTaskStarted, graph.EventTaskEnded, graph.EventTaskRetry, graph.EventTaskStuck:
		line += fmt.Sprintf(" %s %d %d", o.Node, o.Index, o.Attempt)
	case graph.EventCheckpoint:
		line += fmt.Sprint(" ", o.Next)
	case graph.EventRunEnded:
		line += " " + o.Status.String()
	}
	if o.Err != nil {
		line += " " + errors.Unwrap(fmt.Errorf("%w", o.Err)).Error()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notebook) read() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

func TestAnObserverGetsTheEventsOfARun(t *testing.T) {
	var n notebook
	runs := 0
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) {
		if runs++; runs == 1 {
			return update{}, errBroken
		}
		return logged("a"), nil
	}, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
	graph.MapSubgraph(b, "sub", compilePair(t, pairs(nil, "p")), toPair, fromPair)
	b.Edge(graph.Start, "a")
	b.Edge("a", "sub")
	b.Edge("sub", graph.End)
	th, _ := newThread(t, b, graph.Observe(&n), graph.InterruptBefore("sub"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "the run", n.read(), []string{
		"[]run started 1",
		"[]checkpoint 1 [a]",
		"[]task started 2 a 0 1",
		"[]task ended 2 a 0 1 it broke",
		"[]task retry 2 a 0 1 it broke",
		"[]task started 2 a 0 2",
		"[]task ended 2 a 0 2",
		"[]checkpoint 2 [sub]",
		"[]run ended 2 paused",
	})
	n.lines = nil
	done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "the resume", n.read(), []string{
		"[]run started 2",
		"[]task started 3 sub 0 1",
		"[sub]task started 2 p 0 1",
		"[sub]task ended 2 p 0 1",
		"[sub]checkpoint 2 []",
		"[]task ended 3 sub 0 1",
		"[]checkpoint 3 []",
		"[]run ended 3 done",
	})
	n.lines = nil
	runs = 1
	done(t, graph.Done)(compile(t, chain("x"), graph.Observe(&n), graph.Observe(&n)).Run(t.Context(), input))
	same(t, "lines of a run with two observers", len(n.read()), 2*4)
}

func TestAnObserverGetsAStuckNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notebook
		b := newWork()
		b.Node("deaf", func(context.Context, work) (update, error) {
			time.Sleep(time.Minute)
			return logged("deaf"), nil
		}, graph.Timeout(time.Second))
		b.Edge(graph.Start, "deaf")
		b.Edge("deaf", graph.End)
		res := done(t, graph.Done)(compile(t, b, graph.Observe(&n)).Run(t.Context(), input))
		same(t, "log", res.State.Log, []string{"deaf"})
		same(t, "told", n.read()[2:4], []string{"[]task stuck 2 deaf 0 1", "[]task ended 2 deaf 0 1"})
	})
}
