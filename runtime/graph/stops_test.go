package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestStopsOfOneCall: rules 13.12 and 13.13.
func TestStopsOfOneCall(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, chain("a", "b", "c"), d)
		res := done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.InterruptBefore("b"), graph.InterruptAfter("c")))
		same(t, "due at the first stop", res.Next, []graph.ID{"b"})
		res = done(t, graph.Paused)(th.Resume(t.Context(), graph.InterruptBefore("b"), graph.InterruptBefore("c")))
		same(t, "due at the second stop", res.Next, []graph.ID{"c"})
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "b", "c"})
		done(t, graph.Done)(th.Invoke(t.Context(), input)) // without stops
		var last result
		for e, err := range th.Stream(t.Context(), input, graph.InterruptAfter("c")) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Result != nil {
				last = *e.Result
			}
		}
		same(t, "due after the last node", last.Next, []graph.ID{graph.End})
		for _, err := range th.ResumeStream(t.Context(), graph.InterruptBefore("a")) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAStopOfOneCallHoldsAReplay(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"))
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	var beforeB checkpoint.ID
	for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Next) == 1 && snap.Next[0] == "b" {
			beforeB = snap.Checkpoint
		}
	}
	res := done(t, graph.Paused)(th.At(beforeB).Resume(t.Context(), graph.InterruptBefore("b")))
	same(t, "due", res.Next, []graph.ID{"b"})
	done(t, graph.Done)(th.Resume(t.Context()))
}

func TestBeforeRouteOfOneCall(t *testing.T) {
	asked := 0
	b := newWork()
	b.Node("a", say("a"))
	b.Edge(graph.Start, "a")
	b.Route("a", func(context.Context, work) (graph.Next, error) {
		asked++
		return graph.To(graph.End), nil
	}, graph.End)
	th, _ := newThread(t, b)
	done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.InterruptAfter("a"), graph.BeforeRoute()))
	same(t, "routes asked before the stop", asked, 0)
	done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "routes asked", asked, 1)
}

// TestAStopOfOneCallDoesNotHoldASubgraph: rule 13.13.
func TestAStopOfOneCallDoesNotHoldASubgraph(t *testing.T) {
	th, _ := newThread(t, only(compile(t, chain("a", "sub"), graph.SubgraphOnly())))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.InterruptBefore("sub")))
	same(t, "due", res.Next, []graph.ID{"sub"})
	done(t, graph.Done)(th.Resume(t.Context(), graph.InterruptBefore("sub")))
}

// TestStopsOfOneCallInSubgraphs: rules 13.12 and 13.13.
func TestStopsOfOneCallInSubgraphs(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		deep := compile(t, chain("x", "y"), graph.SubgraphOnly())
		b := chain("a")
		b.Subgraph("deep", deep)
		b.Chain("a", "deep", graph.End)
		th, _ := newThread(t, only(compile(t, b, graph.SubgraphOnly())), d)
		stop := graph.InSubgraph("sub", graph.InterruptAfter("a"), graph.InSubgraph("deep", graph.InterruptBefore("y"), graph.InterruptAfter("y")))
		for _, want := range []string{"after sub/a", "before sub/deep/y", "after sub/deep/y"} {
			var res result
			if want == "after sub/a" {
				res = done(t, graph.Paused)(th.Invoke(t.Context(), input, stop))
			} else {
				res = done(t, graph.Paused)(th.Resume(t.Context(), stop))
			}
			if len(res.Stops) != 1 || res.Stops[0].String() != want {
				t.Fatalf("got stops %v, want %s", res.Stops, want)
			}
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "stored stops", snap.Stops, res.Stops)
		}
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "x", "y"})
		done(t, graph.Done)(th.Invoke(t.Context(), input)) // no call inherits the stops
	})
}

// TestAStopInASubgraphThatNobodySawHoldsTheNextResume: rule 13.13.
func TestAStopInASubgraphThatNobodySawHoldsTheNextResume(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newWork()
		b.Subgraph("sub", compile(t, chain("x"), graph.SubgraphOnly()))
		b.Node("sibling", func(ctx context.Context, _ work) (update, error) {
			cancel() // the first run ends before its thread is Paused
			return logged("sibling"), ctx.Err()
		})
		b.Chain(graph.Start, "sub", graph.End)
		b.Chain(graph.Start, "sibling", graph.End)
		th, _ := newThread(t, b, d, graph.Concurrency(1))
		res, err := th.Invoke(ctx, input, graph.InSubgraph("sub", graph.InterruptBefore("x")))
		if !errors.Is(err, context.Canceled) || res.Status != graph.Ready {
			t.Fatalf("got %s, %v; want the cancelled run ready", res.Status, err)
		}
		res = done(t, graph.Paused)(th.Resume(t.Context()))
		same(t, "stops", res.Stops, []graph.Stop{{Path: []graph.PathElement{{Node: "sub"}}, Node: "x"}})
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"x", "sibling"})
	})
}

func TestAStopOfOneCallHoldsEveryCallOfASubgraphNode(t *testing.T) {
	child := compilePair(t, pairs(nil, "x"))
	b := newWork()
	graph.MapSubgraph(b, "sub", child, toPair, fromPair)
	b.Edge(graph.Start, "sub")
	b.Route("sub", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log) < 2 {
			return graph.To("sub"), nil
		}
		return graph.To(graph.End), nil
	}, "sub", graph.End)
	th, _ := newThread(t, b)
	stop := graph.InSubgraph("sub", graph.InterruptBefore("x"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input, stop))
	done(t, graph.Paused)(th.Resume(t.Context(), stop))
	done(t, graph.Done)(th.Resume(t.Context()))
}

func TestBeforeRouteOfOneCallInASubgraph(t *testing.T) {
	asked := 0
	b := newWork()
	b.Node("a", say("a"))
	b.Edge(graph.Start, "a")
	b.Route("a", func(context.Context, work) (graph.Next, error) {
		asked++
		return graph.To(graph.End), nil
	}, graph.End)
	th, _ := newThread(t, only(compile(t, b, graph.SubgraphOnly())))
	done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.InSubgraph("sub", graph.InterruptAfter("a"), graph.BeforeRoute())))
	same(t, "routes asked before the stop", asked, 0)
	done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "routes asked", asked, 1)
}

func TestStopsInSubgraphsThatCannotHoldAreRefused(t *testing.T) {
	child := compile(t, chain("x"), graph.SubgraphOnly())
	g := compile(t, only(child), graph.Saver(memory.New()))
	for want, opt := range map[string]graph.InterruptOption{
		`InSubgraph: no subgraph "x"`:                          graph.InSubgraph("x", graph.InterruptBefore("x")),
		`InSubgraph: no subgraph ""`:                           graph.InSubgraph("", graph.InterruptBefore("x")),
		`InSubgraph "sub": InterruptBefore: no node "sub"`:     graph.InSubgraph("sub", graph.InterruptBefore("sub")),
		`InSubgraph "sub": InSubgraph: no subgraph "x"`:        graph.InSubgraph("sub", graph.InSubgraph("x", graph.InterruptAfter("x"))),
		`InSubgraph "sub": it has no stops`:                    graph.InSubgraph("sub", nil),
		`InSubgraph "sub": BeforeRoute without InterruptAfter`: graph.InSubgraph("sub", graph.BeforeRoute()),
		`InSubgraph "sub": BeforeRoute is given twice`:         graph.InSubgraph("sub", graph.InterruptAfter("x"), graph.BeforeRoute(), graph.BeforeRoute()),
		`InSubgraph "sub": InterruptAfter: End is not a node`:  graph.InSubgraph("sub", graph.InterruptAfter(graph.End)),
	} {
		for _, err := range []error{
			second(g.Thread("t").Invoke(t.Context(), input, opt)), second(g.Thread("t").Resume(t.Context(), opt)),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	if _, err := g.Thread("t").State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a refused call left a thread: %v", err)
	}
}

// TestStopsThatCannotHoldAreRefused: rule 13.14.
func TestStopsThatCannotHoldAreRefused(t *testing.T) {
	g := compile(t, chain("a"), graph.Saver(memory.New()))
	for want, opts := range map[string][]graph.InterruptOption{
		`InterruptBefore: no node "x"`:                           {graph.InterruptBefore("a", "x")},
		`InterruptAfter: no node ""`:                             {graph.InterruptAfter("")},
		`InterruptAfter: End is not a node`:                      {graph.InterruptAfter(graph.End)},
		`BeforeRoute without InterruptAfter has nothing to stop`: {graph.BeforeRoute()},
		`BeforeRoute is given twice; give it once`:               {graph.InterruptAfter("a"), graph.BeforeRoute(), graph.BeforeRoute()},
	} {
		var invoke []graph.InvokeOption
		var resume []graph.ResumeOption
		for _, o := range opts {
			invoke, resume = append(invoke, o), append(resume, o)
		}
		_, err1 := g.Thread("t").Invoke(t.Context(), input, invoke...)
		_, err2 := g.Thread("t").Resume(t.Context(), resume...)
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	if _, err := g.Thread("t").State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a refused call left a thread: %v", err)
	}
}
