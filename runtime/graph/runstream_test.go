package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// written writes down the events of a stream, without what only a thread has.
func written(seq iter.Seq2[graph.Event[work, update], error]) (all []string, err error) {
	for e, wrong := range seq {
		if e.Kind == graph.EventRunStarted {
			e.Step = 0 // a thread has stored its input by then
		}
		text := fmt.Sprintf("%v %s %d %v%s %v %v %v", e.Kind, e.Graph, e.Step, e.Path, e.Node, e.Outcome, e.State.Log, e.Next)
		if e.Result != nil {
			text += fmt.Sprint(e.Result.Status, e.Result.State.Log)
		}
		all, err = append(all, text), wrong
	}
	return all, err
}

// TestAStreamOfARunShowsWhatThatOfAThreadShows compares Graph.Stream with Thread.Stream, also of a
// graph with a subgraph.
func TestAStreamOfARunShowsWhatThatOfAThreadShows(t *testing.T) {
	nested := newWork()
	nested.Subgraph("sub", compile(t, chain("x", "y"), graph.SubgraphOnly()))
	nested.Edge(graph.Start, "sub")
	nested.Edge("sub", graph.End)
	for name, b := range map[string]*graph.Builder[work, update]{
		"chain": chain("a", "b"), "fork and join": forkJoin(), "a subgraph": nested,
	} {
		t.Run(name, func(t *testing.T) {
			g := compile(t, b, graph.Saver(memory.New()), graph.Concurrency(1))
			kinds := graph.Events(graph.EventAll &^ graph.EventCustom)
			want, err := written(g.Thread("t").Stream(t.Context(), logged("in"), kinds))
			if err != nil {
				t.Fatal(err)
			}
			got, err := written(g.Stream(t.Context(), logged("in"), kinds))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "events", got, want)
		})
	}
}

func TestAStreamOfARunEndsWithItsError(t *testing.T) {
	b := newWork()
	b.Node("bad", func(context.Context, work) (update, error) { return update{}, errBroken })
	b.Edge(graph.Start, "bad")
	b.Edge("bad", graph.End)
	g := compile(t, b)
	if _, err := written(g.Stream(t.Context(), input)); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
	got, err := written(g.Stream(t.Context(), input, graph.MaxSteps(-1)))
	if err == nil || len(got) != 1 {
		t.Errorf("a wrong option: got %v and events %q, want an error and the end alone", err, got)
	}
}

func TestLeavingAStreamOfARunEndsTheRun(t *testing.T) {
	ran := 0
	b := newWork()
	for _, id := range []graph.ID{"a", "b"} {
		b.Node(id, func(context.Context, work) (update, error) { ran++; return update{}, nil })
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := compile(t, b)
	for e, err := range g.Stream(t.Context(), input, graph.Events(graph.EventUpdate)) {
		if err != nil || e.Node != "a" {
			t.Fatalf("got %v of %q, %v; want the update of a", e.Kind, e.Node, err)
		}
		break
	}
	same(t, "nodes that ran", ran, 1)
	for e, err := range g.Stream(t.Context(), input, graph.Events(graph.EventRunStarted)) {
		if err != nil || e.Kind != graph.EventRunStarted {
			t.Fatalf("got %v, %v; want the start of the run", e.Kind, err)
		}
		break
	}
	same(t, "nodes that ran", ran, 1)
}

// TestAnUpdateIsShownBeforeItsSuperstepIsCommitted has a sibling that waits until the update was
// seen.
func TestAnUpdateIsShownBeforeItsSuperstepIsCommitted(t *testing.T) {
	seen := make(chan struct{})
	b := newWork()
	b.Node("quick", func(context.Context, work) (update, error) { return logged("quick"), nil })
	b.Node("slow", func(ctx context.Context, _ work) (update, error) {
		select {
		case <-seen:
			return logged("slow"), nil
		case <-ctx.Done():
			return update{}, ctx.Err()
		}
	})
	b.Node("bad", func(context.Context, work) (update, error) { return update{}, errBroken })
	for _, id := range []graph.ID{"quick", "slow"} {
		b.Edge(graph.Start, id)
	}
	b.Edge("quick", graph.End)
	b.Edge("slow", "bad")
	b.Edge("bad", graph.End)
	var got []string
	var last error
	th := compile(t, b, graph.Saver(memory.New())).Thread("t")
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventTaskUpdate|graph.EventUpdate)) {
		last = err
		if e.Kind == graph.EventRunEnded {
			continue
		}
		got = append(got, fmt.Sprintf("%v %s %v", e.Kind, e.Node, e.Update))
		if e.Kind == graph.EventTaskUpdate && e.Node == "quick" {
			close(seen)
		}
	}
	if !errors.Is(last, errBroken) {
		t.Errorf("the run ended with %v, want %v", last, errBroken)
	}
	same(t, "events", got, []string{
		"task update quick " + fmt.Sprint(logged("quick")), "task update slow " + fmt.Sprint(logged("slow")),
		"update quick " + fmt.Sprint(logged("quick")), "update slow " + fmt.Sprint(logged("slow")),
	})
}
