package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// width is the length of the chain and the breadth of the fan.
const width = 100

func count(context.Context, flow.Counter) (flow.CounterUpdate, error) {
	var u flow.CounterUpdate
	u.N.Add(1)
	return u, nil
}

// nodes are the functions that both a graph and its baseline call.
func nodes() []func(context.Context, flow.Counter) (flow.CounterUpdate, error) {
	fs := make([]func(context.Context, flow.Counter) (flow.CounterUpdate, error), width)
	for i := range fs {
		fs[i] = count
	}
	return fs
}

// row declares the nodes as a chain.
func row() *graph.Builder[flow.Counter, flow.CounterUpdate] {
	g := graph.New("chain", flow.CounterSchema)
	g.Edge(graph.Start, id(0))
	for i, f := range nodes() {
		g.Node(id(i), f)
		if i > 0 {
			g.Edge(id(i-1), id(i))
		}
	}
	g.Edge(id(width-1), graph.End)
	return g
}

func id(i int) graph.ID { return graph.ID(fmt.Sprintf("n%02d", i)) }

// BenchmarkChain is 100 nodes in a row. One op is the whole run; the report divides by the steps.
func BenchmarkChain(b *testing.B) {
	fs, g := nodes(), row()
	app, err := g.Compile()
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.Run("baseline calls and merges", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l := flow.CounterSchema.New(cell.Options{})
			var u flow.CounterUpdate
			var err error
			for _, f := range fs {
				if u, err = f(ctx, l.View()); err == nil {
					err = l.Merge(0, &u)
				}
				if err != nil {
					b.Fatal(err)
				}
				l.EndStep()
			}
		}
		perStep(b)
	})
	b.Run("graphgen", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if res, err := app.Run(ctx, flow.CounterUpdate{}); err != nil || res.State.N != width {
				b.Fatal(res.State.N, err)
			}
		}
		perStep(b)
	})
	b.Run("graphgen memory saver", func(b *testing.B) {
		saver := memory.New()
		app := compile(b, g, graph.Saver(saver))
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			// A new thread: a run on a deleted one would start from its head in memory.
			thread := strconv.Itoa(n)
			if res, err := app.Thread(thread).Invoke(ctx, flow.CounterUpdate{}); err != nil || res.State.N != width {
				b.Fatal(res.State.N, err)
			}
			if err := saver.Delete(ctx, thread); err != nil {
				b.Fatal(err)
			}
		}
		perStep(b)
	})
	b.Run("calls alone", func(b *testing.B) {
		b.ReportAllocs()
		var s flow.Counter
		for b.Loop() {
			for _, f := range fs {
				if _, err := f(ctx, s); err != nil {
					b.Fatal(err)
				}
			}
		}
		perStep(b)
	})
}

func perStep(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*width), "ns/step")
}

// TestAChainAllocatesNothingAStep compares a run of 100 steps with one of 200: the difference is
// what a step allocates.
func TestAChainAllocatesNothingAStep(t *testing.T) {
	run := func(steps int) float64 {
		g := graph.New("loop", flow.CounterSchema)
		g.Node("count", count)
		g.Edge(graph.Start, "count")
		g.Route("count", func(_ context.Context, s flow.Counter) (graph.Next, error) {
			if s.N < steps {
				return graph.To("count"), nil
			}
			return graph.To(graph.End), nil
		}, "count", graph.End)
		app, err := g.Compile()
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(50, func() {
			if _, err := app.Run(t.Context(), flow.CounterUpdate{}); err != nil {
				t.Error(err)
			}
		})
	}
	if short, long := run(100), run(200); long != short {
		t.Errorf("100 steps allocate %v times, 200 steps %v; want the same", short, long)
	}
}

// BenchmarkFan is 100 nodes in one superstep, between one before and one after.
func BenchmarkFan(b *testing.B) {
	fs := nodes()
	g := graph.New("fan", flow.CounterSchema)
	for i, f := range fs {
		g.Node(id(i), f)
		g.Edge(graph.Start, id(i))
		g.Edge(id(i), graph.End)
	}
	app, err := g.Compile(graph.Concurrency(width))
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.Run("baseline goroutines and a WaitGroup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l := flow.CounterSchema.New(cell.Options{})
			updates := make([]flow.CounterUpdate, len(fs))
			errs := make([]error, len(fs))
			ctx, cancel := context.WithCancel(ctx) // a task that fails cancels the others
			var wg sync.WaitGroup
			for i, f := range fs {
				s := l.View()
				wg.Go(func() { updates[i], errs[i] = f(ctx, s) })
			}
			wg.Wait()
			cancel()
			for i := range updates {
				if errs[i] != nil || l.Merge(i, &updates[i]) != nil {
					b.Fatal(errs[i])
				}
			}
			l.EndStep()
		}
	})
	b.Run("graphgen", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if res, err := app.Run(ctx, flow.CounterUpdate{}); err != nil || res.State.N != width {
				b.Fatal(res.State.N, err)
			}
		}
	})
}
