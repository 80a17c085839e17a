package bench

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// calls is the number of sends, each into a graph of three steps.
const calls = 1000

// spread returns a graph that makes 1,000 sends to a node that declare adds.
func spread(declare func(g *graph.Builder[flow.Counter, flow.CounterUpdate]) graph.Sender[wire.Int]) *graph.Builder[flow.Counter, flow.CounterUpdate] {
	g := graph.New("spread", flow.CounterSchema)
	each := declare(g)
	g.Route(graph.Start, func(context.Context, flow.Counter) (graph.Next, error) {
		var next graph.Next
		for range calls {
			next.Add(each.Send(1))
		}
		return next, nil
	}, each.ID)
	g.Edge(each.ID, graph.End)
	return g
}

// BenchmarkTaskSubgraph is 1,000 sends into a graph of three steps. It is compared with 1,000
// sends to a function that makes the same three calls.
func BenchmarkTaskSubgraph(b *testing.B) {
	ctx := context.Background()
	child := graph.New("three", flow.CounterSchema)
	for _, id := range []graph.ID{"a", "b", "c"} {
		child.Node(id, count)
	}
	child.Chain(graph.Start, "a", "b", "c", graph.End)
	three := compile(b, child)
	function := spread(func(g *graph.Builder[flow.Counter, flow.CounterUpdate]) graph.Sender[wire.Int] {
		return graph.TaskNode(g, "each", func(ctx context.Context, s flow.Counter, _ wire.Int) (flow.CounterUpdate, error) {
			var all flow.CounterUpdate
			for range 3 {
				if one, err := count(ctx, s); err != nil {
					return one, err
				}
				all.N.Add(1)
			}
			return all, nil
		})
	})
	subgraph := spread(func(g *graph.Builder[flow.Counter, flow.CounterUpdate]) graph.Sender[wire.Int] {
		return graph.TaskSubgraph(g, "each", three,
			func(context.Context, flow.Counter, wire.Int) (flow.CounterUpdate, error) {
				return flow.CounterUpdate{}, nil
			},
			func(_ context.Context, _ flow.Counter, _ wire.Int, c flow.Counter) (flow.CounterUpdate, error) {
				return flow.CounterUpdate{N: state.Add(c.N)}, nil
			})
	})
	for _, run := range []struct {
		name string
		g    *graph.Builder[flow.Counter, flow.CounterUpdate]
	}{{"baseline a function", function}, {"graphgen", subgraph}} {
		app := compile(b, run.g, graph.Concurrency(64))
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if res, err := app.Run(ctx, flow.CounterUpdate{}); err != nil || res.State.N != 3*calls {
					b.Fatal(res.State.N, err)
				}
			}
			perCall(b)
		})
		b.Run(run.name+" memory saver", func(b *testing.B) {
			b.ReportAllocs()
			saved := compile(b, run.g, graph.Concurrency(64), graph.Saver(memory.New()), graph.ReleaseOnDone())
			for b.Loop() {
				if res, err := saved.Thread("t").Invoke(ctx, flow.CounterUpdate{}); err != nil || res.State.N != 3*calls {
					b.Fatal(res.State.N, err)
				}
			}
			perCall(b)
		})
	}
}

func perCall(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
}
