package bench

import (
	"context"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

type (
	counter = graph.Builder[flow.Counter, flow.CounterUpdate]
	applied = func(g *counter, id graph.ID)
)

// rowOf returns the chain whose nodes have options, and to which add adds a policy of each node.
func rowOf(opts []graph.NodeOption, add applied) *counter {
	g := graph.New("chain", flow.CounterSchema)
	g.Edge(graph.Start, id(0))
	for i, f := range nodes() {
		g.Node(id(i), f, opts...)
		if add != nil {
			add(g, id(i))
		}
		if i > 0 {
			g.Edge(id(i-1), id(i))
		}
	}
	g.Edge(id(width-1), graph.End)
	return g
}

// BenchmarkPolicies is the chain with a policy on each node. No node fails, so that the figures
// are the price of a policy that has nothing to do. The cache is the exception: it has all
// results. One op is a run of 100 steps.
func BenchmarkPolicies(b *testing.B) {
	cache := graph.MemoryCache(1 << 20)
	for _, c := range []struct {
		name string
		opts []graph.NodeOption
		add  applied
	}{
		{"baseline chain", nil, nil},
		{"Retry", []graph.NodeOption{graph.Retry(graph.RetryPolicy{Attempts: 3})}, nil},
		{"Timeout", []graph.NodeOption{graph.Timeout(time.Hour)}, nil},
		{"Limit", []graph.NodeOption{graph.Limit(graph.MaxConcurrent(8))}, nil},
		{"KeepUpdateOnError", []graph.NodeOption{graph.KeepUpdateOnError()}, nil},
		{"Fallback", nil, func(g *counter, id graph.ID) {
			g.Fallback(id, func(_ context.Context, _ flow.Counter, err error) (flow.CounterUpdate, error) {
				return flow.CounterUpdate{}, err
			})
		}},
		{"Cache hit", nil, func(g *counter, id graph.ID) {
			g.Cache(id, cache, 0, func(flow.Counter) string { return "all" })
		}},
	} {
		b.Run(c.name, func(b *testing.B) { runs(b, compile(b, rowOf(c.opts, c.add)), width) })
	}
}

// BenchmarkPolicyOfSends is a node that gets 1,000 sends, without and with ContinueOnError.
func BenchmarkPolicyOfSends(b *testing.B) {
	for _, c := range []struct {
		name string
		opts []graph.NodeOption
	}{
		{"baseline sends", nil},
		{"ContinueOnError", []graph.NodeOption{graph.ContinueOnError()}},
	} {
		g := spread(func(g *counter) graph.Sender[wire.Int] {
			return graph.TaskNode(g, "each", func(ctx context.Context, s flow.Counter, _ wire.Int) (flow.CounterUpdate, error) {
				return count(ctx, s)
			}, c.opts...)
		})
		b.Run(c.name, func(b *testing.B) { runs(b, compile(b, g), calls) })
	}
}

// runs measures a graph of so many tasks.
func runs(b *testing.B, app *graph.Graph[flow.Counter, flow.CounterUpdate], tasks int) {
	b.Helper()
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if res, err := app.Run(ctx, flow.CounterUpdate{}); err != nil || res.State.N != tasks {
			b.Fatal(res.State.N, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tasks), "ns/step")
}
