package graphotel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// SaverOption configures Saver.
type SaverOption func(*calls)

// SaverAttributes adds attributes to the spans of all calls of the saver, to their durations, and
// to the gauges of WatchThreads. So the metrics of two savers are separate. Use attributes of the
// semantic conventions for databases, such as semconv.DBSystemNamePostgreSQL and
// semconv.DBNamespace("orders"). With db.system.name, spans also have db.operation.name. The
// default is none. Metrics need attributes with few values.
func SaverAttributes(attrs ...attribute.KeyValue) SaverOption {
	return func(c *calls) { c.attrs = append(c.attrs, attrs...) }
}

// Saver returns a saver that keeps its data in inner, and reports each call. It is a
// checkpoint.Notifier if inner is one, and otherwise it is not. Close closes inner.
//
// A call has a span only if its context has one. So polls of workers make no traces. A call that
// yields a sequence lasts until the loop ends, with the time that the loop itself takes. Pass the
// saver to the graph and to its workers.
func (t *Telemetry) Saver(inner checkpoint.Saver, opts ...SaverOption) checkpoint.Saver {
	s := &saver{Saver: inner, calls: &calls{t: t}}
	for _, o := range opts {
		o(s.calls)
	}
	s.calls.database = slices.ContainsFunc(s.calls.attrs, func(a attribute.KeyValue) bool { return a.Key == semconv.DBSystemNameKey })
	if n, ok := inner.(checkpoint.Notifier); ok {
		return &notifier{s, n}
	}
	return s
}

// saver reports calls of another saver.
type saver struct {
	checkpoint.Saver

	calls *calls
}

// attributes returns the attributes of the saver.
func (s *saver) attributes() []attribute.KeyValue { return s.calls.attrs }

// calls reports the calls of one saver.
type calls struct {
	t        *Telemetry
	attrs    []attribute.KeyValue // of all calls
	database bool                 // attrs have db.system.name
}

// notifier is a saver over a Notifier.
type notifier struct {
	*saver

	by checkpoint.Notifier
}

// Notify implements checkpoint.Notifier.
func (n *notifier) Notify(ctx context.Context, due func(checkpoint.Notice)) (stop func(), err error) {
	return n.by.Notify(ctx, due)
}

// call is a call of a saver.
type call struct {
	operation string
	thread    string // empty for calls of several threads
	records   int
	writes    int

	checkpoint checkpoint.ID // that an append stores last; zero for none, and in a subgraph call

	by           *calls
	begun, ended time.Time
	err          error
}

// startCall starts the span of c as a child of the span in ctx.
func (t *Telemetry) startCall(ctx context.Context, c *call, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	opts = append(opts, trace.WithSpanKind(trace.SpanKindClient))
	if len(c.by.attrs) > 0 {
		opts = append(opts, trace.WithAttributes(c.by.attrs...))
	}
	if c.by.database {
		opts = append(opts, trace.WithAttributes(semconv.DBOperationName(c.operation)))
	}
	ctx, span := t.tracer.Start(ctx, "graphgen.saver "+c.operation, opts...)
	if !span.IsRecording() {
		return ctx, span
	}
	attrs := append(make([]attribute.KeyValue, 0, 4), OperationKey.String(c.operation))
	if c.thread != "" {
		attrs = append(attrs, ThreadKey.String(c.thread))
	}
	if c.records > 0 {
		attrs = append(attrs, RecordsKey.Int(c.records))
	}
	if c.writes > 0 {
		attrs = append(attrs, WritesKey.Int(c.writes))
	}
	span.SetAttributes(attrs...)
	return ctx, span
}

// endCall ends the span of c.
func (t *Telemetry) endCall(span trace.Span, c *call, err error, opts ...trace.SpanEndOption) {
	if err != nil {
		fail(span, err)
	} else {
		t.stored(span, c)
	}
	span.End(opts...)
}

// stored sets the attributes of the checkpoint that c has stored.
func (t *Telemetry) stored(span trace.Span, c *call) {
	if c.checkpoint.IsZero() || !span.IsRecording() {
		return
	}
	span.SetAttributes(CheckpointKey.String(c.checkpoint.String()))
	if t.page != nil {
		span.SetAttributes(CheckpointURLKey.String(t.page(c.thread, c.checkpoint)))
	}
}

// begin begins to report c. It returns the context of the call, and the function to call at its
// end.
func (by *calls) begin(ctx context.Context, c call) (context.Context, func(error)) {
	t := by.t
	c.by, c.begun = by, time.Now()
	if trace.SpanContextFromContext(ctx).IsValid() {
		spanning, span := t.startCall(ctx, &c)
		return spanning, func(err error) {
			t.called(spanning, &c, err)
			t.endCall(span, &c, err)
			if around := scopeOf(ctx); err == nil && around != nil && around.kind == ofStep {
				t.stored(trace.SpanFromContext(ctx), &c)
			}
		}
	}
	return ctx, func(err error) {
		t.called(ctx, &c, err)
		if r := runOf(ctx); r != nil {
			c.ended, c.err = time.Now(), err
			if !r.hold(&c) {
				_, span := t.startCall(r.within(ctx), &c, trace.WithTimestamp(c.begun))
				t.endCall(span, &c, err, trace.WithTimestamp(c.ended))
			}
		}
	}
}

// called measures a call that ends.
func (t *Telemetry) called(ctx context.Context, c *call, err error) {
	if t.metrics.calls.Enabled(ctx) {
		attrs := typed(append([]attribute.KeyValue{OperationKey.String(c.operation)}, c.by.attrs...), err)
		t.metrics.calls.Record(ctx, time.Since(c.begun).Seconds(), metric.WithAttributeSet(attribute.NewSet(attrs...)))
	}
}

// reported reports a call with one result.
func reported[T any](ctx context.Context, by *calls, c call, do func(context.Context) (T, error)) (T, error) {
	ctx, end := by.begin(ctx, c)
	got, err := do(ctx)
	end(err)
	return got, err
}

// done reports a call without a result.
func (by *calls) done(ctx context.Context, c call, do func(context.Context) error) error {
	ctx, end := by.begin(ctx, c)
	err := do(ctx)
	end(err)
	return err
}
