package graphhttp_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// If a route calls runtime.Goexit, the run ends, but its caller and followers continue.
func TestARouteThatEndsItsGoroutineEndsTheRun(t *testing.T) {
	for _, from := range []graph.ID{graph.Start, "a"} {
		b := graph.New("work", teststate.WorkSchema)
		b.Node("a", say("a").f)
		b.Route(from, func(context.Context, work) (graph.Next, error) {
			runtime.Goexit()
			return graph.Next{}, nil
		}, "a", graph.End)
		if from == graph.Start {
			b.Edge("a", graph.End)
		} else {
			b.Edge(graph.Start, "a")
		}
		a, err := b.Compile(graph.Saver(memory.New()))
		if err != nil {
			t.Fatal(err)
		}
		h := newHub(a)
		base := serve(t, a, h)
		if err := h.Invoke(t.Context(), "t", logged("in")); err != nil {
			t.Fatal(err)
		}
		words := open(t, "GET", base+"/t", "").rest()
		want := []string{"checkpoint 1 in next [a]", `end failed: graph: work: thread "t": the run failed: runtime.Goexit was called; return an error instead`}
		if from == graph.Start {
			want = want[1:]
		}
		same(t, "events", words, want)
	}
}

// If a caller's function calls runtime.Goexit on the goroutine of a run, the process and the other
// runs of the thread continue.
func TestAnEncoderThatEndsItsGoroutineAtTheEndLeavesNoRunBehind(t *testing.T) {
	a := chain(t, memory.New(), say("a"))
	at := graph.EventRunEnded
	h := graphhttp.New(a, func(e graph.Event[work, update], _ error) (graphhttp.Message, error) {
		if e.Kind == at {
			at = 0
			runtime.Goexit()
		}
		return graphhttp.Message{Name: "event"}, nil
	})
	base := serve(t, a, h)
	if err := h.Invoke(t.Context(), "t", logged("in")); err != nil {
		t.Fatal(err)
	}
	open(t, "GET", base+"/t", "").rest() // ends only when no run is in progress
}

func TestAReportThatPanicsIsDropped(t *testing.T) {
	a := chain(t, memory.New(), say("a"))
	h := graphhttp.New(a, func(graph.Event[work, update], error) (graphhttp.Message, error) {
		return graphhttp.Message{}, errBroken
	}, graphhttp.OnError(func(string, error) { panic("bang") }))
	base := serve(t, a, h)
	open(t, "POST", base+"/t?in=x", "").rest()
	res, err := a.Thread("t").Resume(t.Context(), graph.Wait()) // once the run has ended, including a run started elsewhere
	if err != nil || res.Steps != 0 || res.Status != graph.Done {
		t.Errorf("got %v after %d more steps, and %v, want the run finished by itself", res.Status, res.Steps, err)
	}
}
