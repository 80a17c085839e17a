package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

func TestCurrentTaskInRoutesAndMappings(t *testing.T) {
	var contexts []context.Context
	seen := map[string]graph.Task{}
	look := func(ctx context.Context, where string) {
		seen[where] = graph.CurrentTask(ctx)
		contexts = append(contexts, ctx)
	}
	route := func(to graph.ID) func(context.Context, work) (graph.Next, error) {
		return func(ctx context.Context, _ work) (graph.Next, error) {
			look(ctx, "route to "+string(to))
			graph.Emit(ctx, "of a route")
			if _, err := refund.Ask(ctx, doc{}); !errors.Is(err, graph.ErrNotAskable) {
				t.Errorf("a route asks: got %v, want ErrNotAskable", err)
			}
			return graph.To(to), nil
		}
	}
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		look(ctx, "a")
		return logged("a"), nil
	})
	graph.MapSubgraph(b, "sub", compile(t, chain("x"), graph.SubgraphOnly()),
		func(ctx context.Context, _ work) (update, error) { look(ctx, "in"); return update{}, nil },
		func(ctx context.Context, _, _ work) (update, error) { look(ctx, "out"); return logged("sub"), nil })
	b.Route(graph.Start, route("a"), "a")
	b.Route("a", route("sub"), "sub")
	b.Edge("sub", graph.End)
	check := func(what, thread string, first int) {
		t.Helper()
		key := seen["in"].Key
		if key == "" || seen["out"].Key != key {
			t.Errorf("%s: keys in the mappings: got %q and %q, want one key", what, key, seen["out"].Key)
		}
		sub := graph.Task{Graph: "g", Thread: thread, Node: "sub", Step: first + 2, Attempt: 1, Key: key}
		same(t, what+": in", seen["in"], sub)
		same(t, what+": out", seen["out"], sub)
		same(t, what+": route from Start", seen["route to a"], graph.Task{Graph: "g", Thread: thread, Node: string(graph.Start), Step: first})
		same(t, what+": route from a", seen["route to sub"], graph.Task{Graph: "g", Thread: thread, Node: "a", Step: first + 1})
		for _, ctx := range contexts {
			same(t, what+": task after the run", graph.CurrentTask(ctx), graph.Task{})
		}
		clear(seen)
	}
	g := compile(t, b)
	if _, err := g.Run(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	check("Run", "", seen["a"].Step-1)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, b, d)
		for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventCustom)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == graph.EventCustom {
				t.Errorf("got the event %v of a route, want none", e.Custom)
			}
		}
		check(d.String(), "t", seen["a"].Step-1)
	})
}
