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
