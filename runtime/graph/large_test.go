package graph_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestLargeGraphs compiles, runs, stops and resumes graphs of many nodes. The tests of
// internal/flow count the work of Compile. This test shows work that grows with the square of
// 10,000.
func TestLargeGraphs(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 2_000
	}
	ids := make([]graph.ID, n)
	for i := range ids {
		ids[i] = graph.ID(strconv.Itoa(i))
	}
	var ran atomic.Int64
	count := func(context.Context, work) (update, error) {
		ran.Add(1)
		return update{}, nil
	}
	each := func(b *graph.Builder[work, update], add func(id graph.ID)) {
		for _, id := range ids {
			b.Node(id, count)
			add(id)
		}
	}
	tests := []struct {
		name  string
		build func(b *graph.Builder[work, update]) []graph.Option
		want  int // how many nodes that count run
	}{
		{"a chain", func(b *graph.Builder[work, update]) []graph.Option {
			from := graph.Start
			each(b, func(id graph.ID) {
				b.Edge(from, id)
				from = id
			})
			b.Edge(from, graph.End)
			return nil
		}, n},
		{"a chain declared from its end", func(b *graph.Builder[work, update]) []graph.Option {
			to := graph.End
			each(b, func(id graph.ID) {
				b.Edge(id, to)
				to = id
			})
			b.Edge(graph.Start, to)
			return nil
		}, n},
		{"edges into one node", func(b *graph.Builder[work, update]) []graph.Option {
			each(b, func(id graph.ID) { edges(b, graph.Start, id, "last") })
			b.Node("last", count)
			b.Edge("last", graph.End)
			return nil
		}, n + 1},
		{"a join of all, reached across a stop", func(b *graph.Builder[work, update]) []graph.Option {
			each(b, func(id graph.ID) { b.Edge(graph.Start, id) })
			idlers(b, "first", "late")
			edges(b, graph.Start, "first", "late")
			b.Join(append([]graph.ID{"late"}, ids...), b.Node("last", count))
			b.Edge("last", graph.End)
			return []graph.Option{graph.InterruptBefore("late")}
		}, n + 1},
		{"joins of the same two, reached across a stop", func(b *graph.Builder[work, update]) []graph.Option {
			idlers(b, "first", "late")
			edges(b, graph.Start, "first", "late")
			each(b, func(id graph.ID) {
				b.Join([]graph.ID{"first", "late"}, id)
				b.Edge(id, graph.End)
			})
			return []graph.Option{graph.InterruptBefore("late")}
		}, n},
		{"an any-of join of all", func(b *graph.Builder[work, update]) []graph.Option {
			idlers(b, ids...)
			for _, id := range ids {
				b.Edge(graph.Start, id)
			}
			b.JoinAny(ids, b.Node("last", count))
			b.Edge("last", graph.End)
			return nil
		}, 1},
		{"a route to all", func(b *graph.Builder[work, update]) []graph.Option {
			each(b, func(id graph.ID) { b.Edge(id, graph.End) })
			b.Route(graph.Start, choose(ids[0], ids[1:]...), ids...)
			return nil
		}, n},
		{"a stop before each", func(b *graph.Builder[work, update]) []graph.Option {
			each(b, func(id graph.ID) { edges(b, graph.Start, id, graph.End) })
			return []graph.Option{graph.InterruptBefore(ids...)}
		}, n},
		{"nodes that declare what they write", func(b *graph.Builder[work, update]) []graph.Option {
			from := graph.Start
			for _, id := range ids {
				b.Edge(from, b.Node(id, count, graph.Writes("Status")))
				from = id
			}
			b.Edge(from, graph.End)
			return nil
		}, n},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newWork()
			opts := append(tt.build(b), graph.Saver(memory.New()), graph.MaxSteps(2*n))
			ran.Store(0)
			th := compile(t, b, opts...).Thread("t")
			res, err := th.Invoke(t.Context(), input)
			if err == nil && res.Status != graph.Done {
				res, err = th.Resume(t.Context())
			}
			done(t, graph.Done)(res, err)
			if got := int(ran.Load()); got != tt.want {
				t.Errorf("%d nodes ran, want %d", got, tt.want)
			}
		})
	}
}

func TestSubgraphsOfSubgraphsCompile(t *testing.T) {
	inner := compile(t, chain("leaf"), graph.SubgraphOnly())
	for range 40 { // 2^40 leaves
		b := newWork()
		b.Subgraph("left", inner)
		b.Subgraph("right", inner)
		edges(b, graph.Start, "left", "right", graph.End)
		inner = compile(t, b, graph.SubgraphOnly())
	}
	b := newWork()
	b.Subgraph("all", inner)
	edges(b, graph.Start, "all", graph.End)
	compile(t, b, graph.Saver(memory.New()))
}
