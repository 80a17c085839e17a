package graphotel

import (
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Scope is the name of the instrumentation scope of all spans and metrics.
const Scope = "github.com/graphgen-go/graphgen/graphotel"

// Telemetry reports runs and calls of savers. New makes one. It is safe for concurrent use.
type Telemetry struct {
	tracer  trace.Tracer
	meter   metric.Meter
	carrier carrier
	metrics instruments
	page    func(thread string, id checkpoint.ID) string // nil for none
	child   bool                                         // ContinueTrace
}

// Option configures New.
type Option func(*config)

type config struct {
	traces     trace.TracerProvider
	metrics    metric.MeterProvider
	propagator propagation.TextMapPropagator
	page       func(thread string, id checkpoint.ID) string
	child      bool
}

// TracerProvider sets the provider of tracers. The default is the global one.
func TracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.traces = p } }

// MeterProvider sets the provider of meters. The default is the global one.
func MeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.metrics = p } }

// Propagator sets the form in which threads store trace contexts. The default is the global
// propagator, or propagation.TraceContext as long as the global one has no fields.
func Propagator(p propagation.TextMapPropagator) Option {
	return func(c *config) { c.propagator = p }
}

// ContinueTrace makes a run whose context has no span a child of the span that its thread stores.
// By default, such a run begins a trace. Both have a link to the stored span.
//
// The trace then lasts from Submit to the end of the thread, and its sampling is decided once. Use
// this option if threads end within minutes: tail samplers and views of traces expect that a trace
// ends soon.
func ContinueTrace() Option { return func(c *config) { c.child = true } }

// CheckpointURL sets the function that returns the address of the page of a checkpoint, such as
// that of inspect.CheckpointURL. The spans of supersteps and appends that have stored a checkpoint
// of a thread then have the address as CheckpointURLKey. page must be safe for concurrent use. By
// default, spans have no address.
func CheckpointURL(page func(thread string, id checkpoint.ID) string) Option {
	return func(c *config) { c.page = page }
}

// New returns a Telemetry. A program needs one for all of its graphs. The caller owns the
// providers, and shuts them down. New returns an error if the meter refuses an instrument.
func New(opts ...Option) (*Telemetry, error) {
	var c config
	for _, o := range opts {
		o(&c)
	}
	if c.traces == nil {
		c.traces = otel.GetTracerProvider()
	}
	if c.metrics == nil {
		c.metrics = otel.GetMeterProvider()
	}
	t := &Telemetry{
		tracer:  c.traces.Tracer(Scope, trace.WithSchemaURL(semconv.SchemaURL)),
		meter:   c.metrics.Meter(Scope, metric.WithSchemaURL(semconv.SchemaURL)),
		carrier: carrier{c.propagator},
		page:    c.page,
		child:   c.child,
	}
	var err error
	if t.metrics, err = newInstruments(t.meter); err != nil {
		return nil, fmt.Errorf("graphotel: %w", err)
	}
	return t, nil
}

// Options returns the options that report the runs of a graph: an Interceptor, an Observer and a
// Propagator. Pass them to Compile of each graph that has threads. They also report subgraphs, so
// a SubgraphOnly graph must not have them.
//
// A run stores its trace context with its thread. A later run of the thread finds it there, and a
// run that begins with a submitted input finds the trace context of Submit. The later run links to
// it. If the context of the later run has a span, the run is a child of that span. Otherwise it is
// the root of a new trace, for which the sampler decides again; see ContinueTrace. Workers have
// contexts without a span by default.
//
// The task of a queue is a child of its run, which waits for it. Its worker has no span of the
// superstep.
func (t *Telemetry) Options() []graph.Option {
	return []graph.Option{
		graph.Intercept(graph.Interceptor{Run: t.run, Step: t.step, Task: t.task, Route: t.route}),
		graph.Observe(commits{t}),
		graph.Propagate(propagator{t}),
	}
}
