package bench

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// many is the number of sends, and of checkpoints, in one measurement.
const many = 10_000

func compile(b *testing.B, g *graph.Builder[flow.Counter, flow.CounterUpdate], opts ...graph.Option) *graph.Graph[flow.Counter, flow.CounterUpdate] {
	b.Helper()
	app, err := g.Compile(opts...)
	if err != nil {
		b.Fatal(err)
	}
	return app
}

// BenchmarkSends is 10,000 sends in one superstep, eight at a time.
func BenchmarkSends(b *testing.B) {
	const workers = 8
	ctx := context.Background()
	add := func(_ context.Context, _ flow.Counter, n wire.Int) (flow.CounterUpdate, error) {
		var u flow.CounterUpdate
		u.N.Add(int(n))
		return u, nil
	}
	b.Run("baseline workers and a channel", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l := flow.CounterSchema.New(cell.Options{})
			updates := make([]flow.CounterUpdate, many)
			next := make(chan int, workers)
			done := make(chan error, workers)
			for range workers {
				go func() {
					var failed error
					for i := range next {
						var err error
						if updates[i], err = add(ctx, l.View(), 1); err != nil {
							failed = err
						}
					}
					done <- failed
				}()
			}
			for i := range updates {
				next <- i
			}
			close(next)
			for range workers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			for i := range updates {
				if err := l.Merge(i, &updates[i]); err != nil {
					b.Fatal(err)
				}
			}
			l.EndStep()
		}
		perSend(b)
	})
	b.Run("baseline goroutines, 64 at a time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l := flow.CounterSchema.New(cell.Options{})
			updates := make([]flow.CounterUpdate, many)
			errs := make([]error, many)
			free := make(chan struct{}, 64)
			var wg sync.WaitGroup
			for i := range updates {
				free <- struct{}{}
				wg.Go(func() {
					updates[i], errs[i] = add(ctx, l.View(), 1)
					<-free
				})
			}
			wg.Wait()
			for i := range updates {
				if errs[i] != nil || l.Merge(i, &updates[i]) != nil {
					b.Fatal(errs[i])
				}
			}
			l.EndStep()
		}
		perSend(b)
	})
	g := graph.New("sends", flow.CounterSchema)
	task := graph.TaskNode(g, "add", add)
	g.Route(graph.Start, func(context.Context, flow.Counter) (graph.Next, error) {
		var next graph.Next
		for range many {
			next.Add(task.Send(1))
		}
		return next, nil
	}, task.ID)
	g.Edge(task.ID, graph.End)
	send := func(workers int) func(b *testing.B) {
		return func(b *testing.B) {
			b.Helper()
			app := compile(b, g, graph.Concurrency(workers))
			b.ReportAllocs()
			for b.Loop() {
				if res, err := app.Run(ctx, flow.CounterUpdate{}); err != nil || res.State.N != many {
					b.Fatal(res.State.N, err)
				}
			}
			perSend(b)
		}
	}
	b.Run("graphgen", send(workers))
	b.Run("graphgen, 64 at a time", send(64))
}

func perSend(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*many), "ns/send")
}

// two is a graph of two nodes.
func two() *graph.Builder[flow.Counter, flow.CounterUpdate] {
	g := graph.New("two", flow.CounterSchema)
	g.Node("a", count)
	g.Node("b", count)
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	return g
}

// BenchmarkResume is a run that stops once and resumes, compared with one that does not stop.
func BenchmarkResume(b *testing.B) {
	ctx := context.Background()
	threads := func(b *testing.B, s checkpoint.Saver, run func(t graph.Thread[flow.Counter, flow.CounterUpdate]) error, opts ...graph.Option) {
		b.Helper()
		b.ReportAllocs()
		app := compile(b, two(), append(opts, graph.Saver(s))...)
		for n := 0; b.Loop(); n++ {
			if err := run(app.Thread(strconv.Itoa(n))); err != nil {
				b.Fatal(err)
			}
		}
	}
	invoke := func(t graph.Thread[flow.Counter, flow.CounterUpdate]) error {
		_, err := t.Invoke(ctx, flow.CounterUpdate{})
		return err
	}
	stop := func(t graph.Thread[flow.Counter, flow.CounterUpdate]) error {
		if err := invoke(t); err != nil {
			return err
		}
		_, err := t.Resume(ctx)
		return err
	}
	b.Run("baseline without a stop", func(b *testing.B) { threads(b, memory.New(), invoke, graph.ReleaseOnDone()) })
	b.Run("graphgen", func(b *testing.B) { threads(b, memory.New(), stop, graph.InterruptBefore("b"), graph.ReleaseOnDone()) })
	b.Run("graphgen on sqlite, normal", func(b *testing.B) {
		s, err := sqlite.Open(filepath.Join(b.TempDir(), "db"), sqlite.Synchronous(sqlite.Normal))
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		threads(b, s, stop, graph.InterruptBefore("b"))
	})
}

// BenchmarkSubgraph is a chain whose nodes are in a subgraph, compared with the same chain
// without one.
func BenchmarkSubgraph(b *testing.B) {
	ctx := context.Background()
	plain := compile(b, two())
	g := graph.New("outer", flow.CounterSchema)
	graph.MapSubgraph(g, "two", plain,
		func(context.Context, flow.Counter) (flow.CounterUpdate, error) { return flow.CounterUpdate{}, nil },
		func(_ context.Context, _, c flow.Counter) (flow.CounterUpdate, error) {
			return flow.CounterUpdate{N: state.Add(c.N)}, nil
		})
	g.Edge(graph.Start, "two")
	g.Edge("two", graph.End)
	nested := compile(b, g)
	s := graph.New("outer", flow.CounterSchema)
	s.Subgraph("two", plain)
	s.Edge(graph.Start, "two")
	s.Edge("two", graph.End)
	same := compile(b, s)
	for _, run := range []struct {
		name string
		app  *graph.Graph[flow.Counter, flow.CounterUpdate]
	}{{"baseline without a subgraph", plain}, {"graphgen", nested}, {"graphgen, same state", same}} {
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if res, err := run.app.Run(ctx, flow.CounterUpdate{}); err != nil || res.State.N != 2 {
					b.Fatal(res.State.N, err)
				}
			}
		})
	}
}

// BenchmarkStream is a run of 100 supersteps that yields an update each. It is compared with a
// run that nobody watches.
func BenchmarkStream(b *testing.B) {
	ctx := context.Background()
	g := graph.New("loop", flow.CounterSchema)
	g.Node("count", count)
	g.Edge(graph.Start, "count")
	g.Route("count", func(_ context.Context, s flow.Counter) (graph.Next, error) {
		if s.N < width {
			return graph.To("count"), nil
		}
		return graph.To(graph.End), nil
	}, "count", graph.End)
	app := compile(b, g, graph.Saver(memory.New()), graph.ReleaseOnDone())
	b.Run("baseline without a stream", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := app.Thread("t").Invoke(ctx, flow.CounterUpdate{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, kinds := range map[string]graph.EventKind{"graphgen": graph.EventUpdate, "graphgen, tasks too": graph.EventAll} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range app.Thread("t").Stream(ctx, flow.CounterUpdate{}, graph.Events(kinds)) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkHistory reads the history of 10,000 checkpoints, states included. It is compared with
// reading only the records.
func BenchmarkHistory(b *testing.B) {
	ctx := context.Background()
	s := memory.New()
	g := graph.New("loop", flow.CounterSchema)
	g.Node("count", count)
	g.Edge(graph.Start, "count")
	g.Route("count", func(_ context.Context, s flow.Counter) (graph.Next, error) {
		if s.N < many {
			return graph.To("count"), nil
		}
		return graph.To(graph.End), nil
	}, "count", graph.End)
	t := compile(b, g, graph.Saver(s), graph.MaxSteps(2*many)).Thread("t")
	if _, err := t.Invoke(ctx, flow.CounterUpdate{}); err != nil {
		b.Fatal(err)
	}
	b.Run("baseline records alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for _, err := range s.History(ctx, checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n < many {
				b.Fatal(n)
			}
		}
	})
	b.Run("graphgen", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for snap, err := range t.History(ctx, checkpoint.Query{}) {
				if err != nil || snap.State.N > many {
					b.Fatal(snap.State.N, err)
				}
				n++
			}
			if n < many {
				b.Fatal(n)
			}
		}
	})
	b.Run("graphgen, the newest", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if snap, err := t.State(ctx); err != nil || snap.State.N != many {
				b.Fatal(snap.State.N, err)
			}
		}
	})
}

// BenchmarkCache is a run of one node that costs nothing, called and with its result from a cache
// in memory.
func BenchmarkCache(b *testing.B) {
	for _, cached := range []bool{false, true} {
		name := "the node is called"
		g := graph.New("cache", flow.CounterSchema)
		g.Node("n", func(context.Context, flow.Counter) (u flow.CounterUpdate, _ error) {
			u.N.Add(1)
			return u, nil
		})
		g.Chain(graph.Start, "n", graph.End)
		if cached {
			name = "cached result"
			g.Cache("n", graph.MemoryCache(1<<20), 0, func(flow.Counter) string { return "key" })
		}
		app, err := g.Compile()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if res, err := app.Run(context.Background(), flow.CounterUpdate{}); err != nil || res.State.N != 1 {
					b.Fatal(res.State.N, err)
				}
			}
		})
	}
}
