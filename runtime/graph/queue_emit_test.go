package graph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// emitting is a node that emits values of three types, and then logs its name.
func emitting(ctx context.Context, _ work, name wire.String) (update, error) {
	for i := range 3 {
		graph.Emit(ctx, wire.String(fmt.Sprint(name, i)))
	}
	n := wire.Int(7)
	graph.Emit(ctx, &n)
	graph.Emit(ctx, "no declared type")
	return logged(string(name)), nil
}

// TestValuesOfAQueueReachTheStream checks the values, their order in a task, and their attributes,
// at each depth.
func TestValuesOfAQueueReachTheStream(t *testing.T) {
	eachQueueNesting(t, func(t *testing.T, build func(graph.TaskQueue, checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
		g := build(new(graph.LocalQueue), memory.New(), emitting, graph.Emits[wire.String](), graph.Emits[wire.Int]())
		serving(t, g, 4)
		got := make(map[string][]string) // by task
		for e, err := range g.Thread("t").Stream(t.Context(), input, graph.Events(graph.EventCustom|graph.EventRunEnded)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == graph.EventRunEnded {
				same(t, "log", e.Result.State.Log, log)
				continue
			}
			if e.Attempt != 1 || e.Node != "each" || len(e.Path) == 0 {
				t.Errorf("event: got attempt %d of %v/%s, want attempt 1 of each in a subgraph", e.Attempt, e.Path, e.Node)
			}
			at := fmt.Sprint(e.Path, e.Index)
			got[at] = append(got[at], fmt.Sprintf("%T %v", e.Custom, e.Custom))
		}
		sends := strings.Count(strings.Join(log, " "), "x") + strings.Count(strings.Join(log, " "), "y")
		same(t, "tasks with events", len(got), sends)
		for at, values := range got {
			name := "x"
			if strings.HasSuffix(at, "1") {
				name = "y"
			}
			same(t, "values of "+at, values, []string{
				"wire.String " + name + "0", "wire.String " + name + "1", "wire.String " + name + "2", "wire.Int 7",
			})
		}
	})
}

// TestASlowStreamDoesNotStopAWorker emits more values than wait for a stream that takes none until
// the worker has ended its task.
func TestASlowStreamDoesNotStopAWorker(t *testing.T) {
	const emitted = 2_000
	over := make(chan struct{})
	node := func(ctx context.Context, _ work) (update, error) {
		defer close(over)
		for i := range emitted {
			graph.Emit(ctx, wire.Int(i))
		}
		return logged("gpu"), nil
	}
	g := queued(t, node, memory.New(), nil, graph.Emits[wire.Int]())
	serving(t, g, 1)
	var got []int
	for e, err := range g.Thread("t").Stream(t.Context(), input, graph.Events(graph.EventCustom)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == graph.EventCustom {
			<-over
			got = append(got, int(e.Custom.(wire.Int)))
		}
	}
	if !slices.IsSorted(got) || len(got) == 0 || len(got) == emitted {
		t.Errorf("got %d values of %d, sorted %t; want some of them, in their order", len(got), emitted, slices.IsSorted(got))
	}
}

// TestAWorkerEmitsOnlyForAStream runs a node without a stream, and without a Relay.
func TestAWorkerEmitsOnlyForAStream(t *testing.T) {
	var tasks []graph.QueuedTask
	var g *app
	q := &lossy{do: func(ctx context.Context, task graph.QueuedTask) error {
		tasks = append(tasks, task)
		return g.RunQueued(ctx, task)
	}}
	node := func(ctx context.Context, s work) (update, error) { return emitting(ctx, s, "gpu") }
	g = queued(t, node, memory.New(), []graph.Option{graph.Queues(q)}, graph.Emits[wire.String]())
	done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
	only := struct{ graph.TaskQueue }{q}
	g = queued(t, node, memory.New(), []graph.Option{graph.Queues(only)}, graph.Emits[wire.String]())
	for e, err := range g.Thread("u").Stream(t.Context(), input, graph.Events(graph.EventCustom)) {
		if err != nil || e.Kind == graph.EventCustom {
			t.Errorf("got %v and %v, want no value and no error", e.Kind, err)
		}
	}
	for _, task := range tasks {
		if task.Emits {
			t.Errorf("got a task whose values are taken, want none")
		}
	}
	same(t, "tasks", len(tasks), 2)
}
