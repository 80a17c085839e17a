package graph_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
)

// wraps are the lines that interceptors and nodes write, by task.
type wraps struct {
	mu    sync.Mutex
	lines map[string][]string
}

func (w *wraps) add(task, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lines == nil {
		w.lines = make(map[string][]string)
	}
	w.lines[task] = append(w.lines[task], fmt.Sprintf(format, args...))
}

// wrapping is an Interceptor that writes when a task begins and ends inside it.
func (w *wraps) wrapping(name string) graph.Interceptor {
	return graph.Interceptor{
		Task: func(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
			task := fmt.Sprintf("%v%s.%d", i.Path, i.Node, i.Index)
			w.add(task, "%s begins %s %q %d", name, i.Kind, i.Queue, i.Attempt)
			o, err := next(within(ctx, name))
			w.add(task, "%s ends %s", name, o)
			return err
		},
	}
}

// TestInterceptorsWrapEachTaskOfAFanOut: tasks of all kinds run at the same time, each inside both
// interceptors, by rule 24.1.
func TestInterceptorsWrapEachTaskOfAFanOut(t *testing.T) {
	var w wraps
	inside := func(task string, ctx context.Context) { w.add(task, "in %s", wrappersOf(ctx)) }
	child := func(task string) *graph.Graph[pair, pairUpdate] {
		b := graph.New("inner", teststate.PairSchema)
		b.Node("x", func(ctx context.Context, _ pair) (pairUpdate, error) { inside(task, ctx); return pairUpdate{}, nil })
		b.Chain(graph.Start, "x", graph.End)
		return compilePair(t, b)
	}
	b := newWork()
	read := graph.TaskNode(b, "read", func(ctx context.Context, _ work, _ doc) (update, error) {
		inside(fmt.Sprintf("[]read.%d", graph.CurrentTask(ctx).Index), ctx)
		return update{}, nil
	})
	pick := graph.RoutingTaskNode(b, "pick", func(ctx context.Context, _ work, _ doc) (update, graph.Next, error) {
		inside("[]pick.2", ctx)
		return update{}, graph.To(graph.End), nil
	}, graph.Targets(graph.End))
	b.RoutingNode("choose", func(ctx context.Context, _ work) (update, graph.Next, error) {
		inside("[]choose.0", ctx)
		return update{}, graph.To(graph.End), nil
	}, graph.Targets(graph.End))
	graph.MapSubgraph(b, "map", child("[map]x.0"), toPair, fromPair)
	call := graph.TaskSubgraph(b, "call", child("[call[3]]x.0"),
		func(context.Context, work, doc) (pairUpdate, error) { return pairUpdate{}, nil },
		func(context.Context, work, doc, pair) (update, error) { return update{}, nil })
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		next := graph.To("choose", "map")
		for _, send := range []graph.Next{read.Send(doc{}), read.Send(doc{}), pick.Send(doc{}), call.Send(doc{})} {
			next.Add(send)
		}
		return next, nil
	}, "choose", "map", "read", "pick", "call")
	for _, id := range []graph.ID{"map", "read", "call"} {
		b.Edge(id, graph.End)
	}
	th, _ := newThread(t, b, graph.Intercept(w.wrapping("1"), w.wrapping("2")))
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	of := func(kind graph.NodeKind, inner ...string) []string {
		lines := []string{fmt.Sprintf(`1 begins %s "" 1`, kind), fmt.Sprintf(`2 begins %s "" 1`, kind)}
		return append(append(lines, inner...), "2 ends done", "1 ends done")
	}
	same(t, "lines", w.lines, map[string][]string{
		"[]read.0":     of(graph.KindTask, "in 12"),
		"[]read.1":     of(graph.KindTask, "in 12"),
		"[]pick.2":     of(graph.KindTask, "in 12"),
		"[]choose.0":   of(graph.KindNode, "in 12"),
		"[]map.0":      of(graph.KindMapSubgraph),
		"[map]x.0":     of(graph.KindNode, "in 1212"),
		"[]call.3":     of(graph.KindTaskSubgraph),
		"[call[3]]x.0": of(graph.KindNode, "in 1212"),
	})
}
