package graphotel_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/graphgen-go/graphgen/graphotel"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// nodes is the number of nodes in the line of a benchmark, and of supersteps in a run.
const nodes = 10

// BenchmarkRun measures a run of ten nodes that do nothing, over the memory saver: without this
// package, without samples, with all samples, and with metrics.
func BenchmarkRun(b *testing.B) {
	never := trace.NewTracerProvider(trace.WithSampler(trace.NeverSample()))
	always := trace.NewTracerProvider(trace.WithBatcher(tracetest.NewNoopExporter()))
	none := metric.NewMeterProvider() // without a reader
	read := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	b.Cleanup(func() {
		if err := always.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
	})
	for _, c := range []struct {
		name string
		opts []graphotel.Option // nil for a graph without this package
	}{
		{"without", nil},
		{"never-sampled", []graphotel.Option{graphotel.TracerProvider(never), graphotel.MeterProvider(none)}},
		{"sampled", []graphotel.Option{graphotel.TracerProvider(always), graphotel.MeterProvider(none)}},
		{"never-sampled-metrics", []graphotel.Option{graphotel.TracerProvider(never), graphotel.MeterProvider(read)}},
		{"sampled-metrics", []graphotel.Option{graphotel.TracerProvider(always), graphotel.MeterProvider(read)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, s := benchmarked(b, c.opts)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Thread("t").Invoke(ctx, JobUpdate{}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Delete(ctx, "t"); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nodes, "ns/superstep")
		})
	}
}

// benchmarked returns a graph and its saver.
func benchmarked(b *testing.B, opts []graphotel.Option) (*app, checkpoint.Saver) {
	b.Helper()
	var s checkpoint.Saver = memory.New()
	compiling := []graph.Option{graph.Saver(s)}
	if opts != nil {
		tel, err := graphotel.New(opts...)
		if err != nil {
			b.Fatal(err)
		}
		s = tel.Saver(s)
		compiling = append(tel.Options(), graph.Saver(s))
	}
	line, last := graph.New("line", JobSchema), graph.Start
	for _, id := range []graph.ID{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		line.Node(id, func(context.Context, Job) (JobUpdate, error) { return JobUpdate{}, nil })
		line.Edge(last, id)
		last = id
	}
	line.Edge(last, graph.End)
	g, err := line.Compile(compiling...)
	if err != nil {
		b.Fatal(err)
	}
	return g, s
}
