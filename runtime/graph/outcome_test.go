package graph_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// outcomes are graphs with a task that ends in each way: what is reported of the task "n".
var outcomes = map[string]struct {
	build func(t *testing.T, b *graph.Builder[work, update])
	want  string
}{
	"done": {build: func(_ *testing.T, b *graph.Builder[work, update]) { b.Node("n", say("n")) }, want: "done <nil>"},
	"waiting": {build: func(_ *testing.T, b *graph.Builder[work, update]) {
		b.Node("n", func(ctx context.Context, _ work) (update, error) {
			_, err := refund.Ask(ctx, doc{})
			return update{}, err
		}, refund)
	}, want: "waiting <nil>"},
	"waiting in a subgraph": {build: func(t *testing.T, b *graph.Builder[work, update]) {
		t.Helper()
		inner := newWork()
		inner.Node("in", func(ctx context.Context, _ work) (update, error) {
			_, err := refund.Ask(ctx, doc{})
			return update{}, err
		}, refund)
		inner.Edge(graph.Start, "in")
		inner.Edge("in", graph.End)
		b.Subgraph("n", compile(t, inner, graph.SubgraphOnly()))
	}, want: "waiting <nil>"},
	"paused": {build: func(t *testing.T, b *graph.Builder[work, update]) {
		t.Helper()
		b.Subgraph("n", compile(t, chain("in"), graph.SubgraphOnly(), graph.InterruptBefore("in")))
	}, want: "paused <nil>"},
	"failed": {build: func(_ *testing.T, b *graph.Builder[work, update]) {
		b.Node("n", func(context.Context, work) (update, error) { return update{}, errBroken })
	}, want: "failed it broke"},
	"panicked": {build: func(_ *testing.T, b *graph.Builder[work, update]) {
		b.Node("n", func(context.Context, work) (update, error) { panic(errBroken) })
	}, want: "failed panic"},
	"cancelled": {build: func(_ *testing.T, b *graph.Builder[work, update]) {
		began := make(chan struct{})
		b.Node("n", func(ctx context.Context, _ work) (update, error) {
			close(began)
			<-ctx.Done()
			return update{}, ctx.Err()
		})
		b.Node("bad", func(context.Context, work) (update, error) {
			<-began
			return update{}, errBroken
		})
		b.Edge(graph.Start, "bad")
		b.Edge("bad", graph.End)
	}, want: "cancelled context canceled"},
	"superseded": {build: func(_ *testing.T, b *graph.Builder[work, update]) {
		began := make(chan struct{})
		b.Node("n", func(ctx context.Context, _ work) (update, error) {
			close(began)
			<-ctx.Done()
			return update{}, ctx.Err()
		})
		b.Node("quick", func(context.Context, work) (update, error) {
			<-began
			return logged("quick"), nil
		})
		b.Node("after", say("after"))
		b.JoinAny([]graph.ID{"n", "quick"}, "after")
		b.Edge(graph.Start, "quick")
		b.Edge("after", graph.End)
	}, want: "superseded <nil>"},
}

func TestTheOutcomeOfATask(t *testing.T) {
	for name, o := range outcomes {
		t.Run(name, func(t *testing.T) {
			b := newWork()
			o.build(t, b)
			b.Edge(graph.Start, "n")
			if name != "superseded" {
				b.Edge("n", graph.End)
			}
			var mu sync.Mutex
			var told []string
			note := func(node graph.ID, path []graph.PathElement, outcome graph.Outcome, err error) {
				mu.Lock()
				defer mu.Unlock()
				if node == "n" && path == nil {
					line := fmt.Sprint(outcome, " ", err)
					told = append(told, line[:min(len(line), len(o.want))])
				}
			}
			th, _ := newThread(t, b, graph.Observe(observer(func(o graph.RunEvent) {
				if o.Kind == graph.EventTaskEnded {
					note(o.Node, o.Path, o.Outcome, o.Err)
				}
			})))
			for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventTaskEnded)) {
				if err != nil && e.Kind != graph.EventRunEnded {
					t.Fatal(err)
				}
				if e.Kind == graph.EventTaskEnded {
					note(e.Node, e.Path, e.Outcome, e.Err)
				}
			}
			same(t, "told by the observer and by the stream", told, []string{o.want, o.want})
		})
	}
}
