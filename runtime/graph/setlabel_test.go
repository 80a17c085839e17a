package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// labelling is a graph of two parallel nodes that set labels, and a node after them that reads
// one. While broken, second fails.
func labelling(ran *counter, broken *bool) *graph.Builder[work, update] {
	b := newWork()
	set := func(ctx context.Context, labels ...string) (err error) {
		for i := 0; i < len(labels); i += 2 {
			err = errors.Join(err, graph.SetLabel(ctx, labels[i], labels[i+1]))
		}
		return err
	}
	b.Node("first", func(ctx context.Context, _ work) (update, error) {
		ran.add("first")
		return update{}, set(ctx, "phase", "first", "gone", "", "only", "first")
	}, graph.ContinueOnError())
	b.Node("second", func(ctx context.Context, _ work) (update, error) {
		ran.add("second")
		if *broken {
			return update{}, errors.Join(errors.New("broken"), set(ctx, "failed", "yes"))
		}
		return update{}, set(ctx, "phase", "second")
	}, graph.ContinueOnError())
	b.Node("after", func(ctx context.Context, _ work) (update, error) {
		phase, err := graph.ThreadLabel(ctx, "phase")
		if err != nil && !errors.Is(err, graph.ErrNoLabel) { // an unstored call has none yet
			return update{}, err
		}
		return logged("after " + phase), nil
	})
	b.Edge(graph.Start, "first")
	b.Edge(graph.Start, "second")
	b.Join([]graph.ID{"first", "second"}, "after")
	b.Edge("after", graph.End)
	return b
}

func TestNodesSetLabelsWithTheirCommit(t *testing.T) {
	wraps := map[string]func(*testing.T, *graph.Builder[work, update]) *graph.Builder[work, update]{
		"node": func(_ *testing.T, b *graph.Builder[work, update]) *graph.Builder[work, update] { return b },
	}
	for name, opts := range map[string][]graph.NodeOption{"subgraph": nil, "unstored subgraph": {graph.Unstored()}} {
		wraps[name] = func(t *testing.T, b *graph.Builder[work, update]) *graph.Builder[work, update] {
			t.Helper()
			around := newWork()
			around.Subgraph("sub", compile(t, b, graph.SubgraphOnly()), opts...)
			around.Chain(graph.Start, "sub", graph.End)
			return around
		}
	}
	for name, wrap := range wraps {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				s, ran, broken := memory.New(), &counter{}, true
				g := compile(t, wrap(t, labelling(ran, &broken)), graph.Saver(s), d)
				th := g.Thread("t")
				if _, err := th.Invoke(t.Context(), logged("in"), graph.Label("gone", "soon"), graph.Label("user", "ada")); err == nil {
					t.Fatal("the broken node did not fail")
				}
				same(t, "labels after a failure", snapshot(t, th).Labels, map[string]string{"gone": "soon", "user": "ada"})
				broken = false
				done(t, graph.Done)(th.Resume(t.Context()))
				snap := snapshot(t, th)
				same(t, "labels", snap.Labels, map[string]string{"user": "ada", "phase": "second", "only": "first"})
				if name == "node" {
					same(t, "runs", ran.counts(), map[string]int{"first": 1, "second": 2})
				}
				if name != "unstored subgraph" { // its supersteps commit with the call
					same(t, "log", snap.State.Log, []string{"in", "after second"})
				}
				var found []string
				for got, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Labels: map[string]string{"phase": "second"}}) {
					if err != nil {
						t.Fatal(err)
					}
					found = append(found, got.ID)
				}
				same(t, "found", found, []string{"t"})
			})
		})
	}
}

// TestTasksOfQueuesSetLabelsWithTheCommit tests rule 11.19 for a node that a worker of a queue
// runs.
func TestTasksOfQueuesSetLabelsWithTheCommit(t *testing.T) {
	s := memory.New()
	g := queued(t, func(ctx context.Context, _ work) (update, error) {
		if user, err := graph.ThreadLabel(ctx, "user"); err != nil || user != "ada" {
			t.Errorf("label of the thread in the worker: got %q and %v, want ada", user, err)
		}
		return logged("gpu"), errors.Join(graph.SetLabel(ctx, "phase", "rendered"), graph.SetLabel(ctx, "gone", ""))
	}, s, nil)
	th, p := g.Thread("t"), serving(g, s)
	done(t, graph.Waiting)(th.Invoke(t.Context(), input, graph.Label("user", "ada"), graph.Label("gone", "soon")))
	same(t, "tasks", p.work(t), 1)
	same(t, "labels before the commit", snapshot(t, th).Labels, map[string]string{"user": "ada", "gone": "soon"})
	done(t, graph.Done)(p.resume(t, th))
	same(t, "labels", snapshot(t, th).Labels, map[string]string{"user": "ada", "phase": "rendered"})
}

func TestWrongLabelsOfANodeAreRefused(t *testing.T) {
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		var invalid *checkpoint.InvalidError
		if err := graph.SetLabel(ctx, "", "x"); !errors.As(err, &invalid) {
			t.Errorf("no name: got %v, want an InvalidError", err)
		}
		if err := graph.SetLabel(ctx, graph.ParentLabel, "x"); !errors.As(err, &invalid) {
			t.Errorf("a reserved name: got %v, want an InvalidError", err)
		}
		if err := graph.SetLabel(ctx, "x", strings.Repeat("x", checkpoint.MaxLabelValue+1)); !errors.As(err, &invalid) {
			t.Errorf("a long value: got %v, want an InvalidError", err)
		}
		for i := range checkpoint.MaxLabels - 1 {
			if err := graph.SetLabel(ctx, fmt.Sprint(i), "x"); err != nil {
				t.Error(err)
			}
		}
		if err := graph.SetLabel(ctx, "one more", "x"); !errors.Is(err, graph.ErrTooManyLabels) {
			t.Errorf("got %v, want ErrTooManyLabels", err)
		}
		return update{}, nil
	})
	b.Chain(graph.Start, "a", graph.End)
	th := compile(t, b, graph.Saver(memory.New())).Thread("t")
	done(t, graph.Done)(th.Invoke(t.Context(), logged("in"), graph.Label("user", "ada")))
	same(t, "labels", len(snapshot(t, th).Labels), checkpoint.MaxLabels)
	if err := graph.SetLabel(t.Context(), "a", "b"); !errors.Is(err, graph.ErrNoTask) {
		t.Errorf("under no task: got %v, want ErrNoTask", err)
	}
}
