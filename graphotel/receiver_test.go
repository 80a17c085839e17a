package graphotel_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/graphgen-go/graphgen/graphotel"
)

// receiver is an OTLP server over gRPC, which keeps everything that it receives.
type receiver struct {
	collectortraces.UnimplementedTraceServiceServer

	address string

	mu      sync.Mutex
	spans   []*traces.Span
	metrics map[string]*metrics.Metric // the newest of each name
}

// Export implements the trace service.
func (r *receiver) Export(_ context.Context, in *collectortraces.ExportTraceServiceRequest) (*collectortraces.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range in.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return &collectortraces.ExportTraceServiceResponse{}, nil
}

// meters is the metrics service of a receiver.
type meters struct {
	collectormetrics.UnimplementedMetricsServiceServer

	r *receiver
}

// Export implements the metrics service.
func (m meters) Export(_ context.Context, in *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for _, resource := range in.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, one := range scope.Metrics {
				m.r.metrics[one.Name] = one
			}
		}
	}
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}

// receive starts a receiver, which ends with the test.
func receive(tb testing.TB) *receiver {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &receiver{address: l.Addr().String(), metrics: make(map[string]*metrics.Metric)}
	server := grpc.NewServer()
	collectortraces.RegisterTraceServiceServer(server, r)
	collectormetrics.RegisterMetricsServiceServer(server, meters{r: r})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	tb.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	return r
}

// process is the telemetry of one process, with exporters of its own.
type process struct {
	*graphotel.Telemetry

	r      *receiver
	traces *trace.TracerProvider
	meters *metric.MeterProvider
}

// process returns the telemetry of another process that exports to r.
func (r *receiver) process(tb testing.TB, opts ...graphotel.Option) *process {
	tb.Helper()
	ctx := tb.Context()
	spans, err := otlptracegrpc.New(ctx, otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(r.address))
	if err != nil {
		tb.Fatal(err)
	}
	values, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithEndpoint(r.address))
	if err != nil {
		tb.Fatal(err)
	}
	p := &process{
		r:      r,
		traces: trace.NewTracerProvider(trace.WithBatcher(spans)),
		meters: metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(values))),
	}
	tb.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		if err := p.traces.Shutdown(ctx); err != nil {
			tb.Error(err)
		}
		if err := p.meters.Shutdown(ctx); err != nil {
			tb.Error(err)
		}
	})
	opts = append([]graphotel.Option{graphotel.TracerProvider(p.traces), graphotel.MeterProvider(p.meters)}, opts...)
	if p.Telemetry, err = graphotel.New(opts...); err != nil {
		tb.Fatal(err)
	}
	return p
}

// flush exports everything that the process has.
func (p *process) flush(tb testing.TB) {
	tb.Helper()
	if err := p.traces.ForceFlush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := p.meters.ForceFlush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// take flushes p, and returns the spans that arrived since the last take.
func (p *process) take(tb testing.TB) spans {
	tb.Helper()
	p.flush(tb)
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	got := p.r.spans
	p.r.spans = nil
	slices.SortStableFunc(got, func(a, b *traces.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	return got
}

// spans are received spans, by the time of their start.
type spans []*traces.Span

// named returns the spans with a name.
func (all spans) named(name string) spans {
	return slices.DeleteFunc(slices.Clone(all), func(s *traces.Span) bool { return s.Name != name })
}

// one returns the only span with a name.
func (all spans) one(tb testing.TB, name string) *traces.Span {
	tb.Helper()
	found := all.named(name)
	if len(found) != 1 {
		tb.Fatalf("got %d spans %q, want one, among %v", len(found), name, all.names())
	}
	return found[0]
}

func (all spans) names() (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// parent returns the name of the parent of s, "" for none, and the id if it is not among them.
func (all spans) parent(s *traces.Span) string {
	for _, p := range all {
		if slices.Equal(p.SpanId, s.ParentSpanId) && slices.Equal(p.TraceId, s.TraceId) {
			return p.Name
		}
	}
	return hex.EncodeToString(s.ParentSpanId)
}

// path returns the names of the spans around s, and that of s, without those of savers.
func (all spans) path(s *traces.Span) string {
	for _, p := range all {
		if slices.Equal(p.SpanId, s.ParentSpanId) {
			return all.path(p) + " > " + s.Name
		}
	}
	return s.Name
}

// attributes returns the attributes of a span or a value, as text.
func attributes(all []*common.KeyValue) map[string]string {
	values := make(map[string]string)
	for _, a := range all {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			values[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			values[a.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_BoolValue:
			values[a.Key] = fmt.Sprint(v.BoolValue)
		case *common.AnyValue_ArrayValue:
			var each []string
			for _, one := range v.ArrayValue.Values {
				each = append(each, one.GetStringValue())
			}
			values[a.Key] = fmt.Sprint(each)
		default:
			values[a.Key] = a.Value.String()
		}
	}
	return values
}

// want checks some attributes of a span. An empty value means that the span must not have one.
func want(tb testing.TB, s *traces.Span, attrs map[string]string) {
	tb.Helper()
	got := attributes(s.Attributes)
	for key, value := range attrs {
		if got[key] != value {
			tb.Errorf("span %q: got %s %q, want %q, in %v", s.Name, key, got[key], value, got)
		}
	}
}
