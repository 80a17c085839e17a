package graphotel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// maxValue is the size in bytes of the largest value that a thread stores. All metadata of a run
// has at most 2,048 bytes, and baggage can be larger.
const maxValue = 512

// carrier writes trace contexts as text and reads them.
type carrier struct{ set propagation.TextMapPropagator }

// propagator returns the one of the options, the global one, or the default.
func (c carrier) propagator() propagation.TextMapPropagator {
	if c.set != nil {
		return c.set
	}
	if p := otel.GetTextMapPropagator(); len(p.Fields()) > 0 {
		return p
	}
	return propagation.TraceContext{}
}

// propagator stores trace contexts with threads.
type propagator struct{ t *Telemetry }

// Inject implements graph.Propagator.
func (p propagator) Inject(ctx context.Context) map[string]string {
	if r := runOf(ctx); r.pending() {
		// A run asks first when it begins, and again when it has read its thread. After that, no
		// trace context can be found any more.
		r.mu.Lock()
		first := !r.asked
		r.asked = true
		r.mu.Unlock()
		if first {
			return nil
		}
	}
	values := make(propagation.MapCarrier)
	p.t.carrier.propagator().Inject(runOf(ctx).within(ctx), values)
	for key, value := range values {
		if value == "" || len(value) > maxValue {
			delete(values, key)
		}
	}
	return values
}

// Extract implements graph.Propagator.
func (p propagator) Extract(ctx context.Context, stored map[string]string) context.Context {
	found := p.t.carrier.propagator().Extract(ctx, propagation.MapCarrier(stored))
	r := runOf(ctx)
	if r == nil { // the worker of a queue: its run is in progress, and the parent of its task
		return found
	}
	own, remote := trace.SpanFromContext(ctx), trace.SpanContextFromContext(found)
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := baggage.FromContext(ctx); b.Len() > 0 {
		found = baggage.ContextWithBaggage(found, b)
	}
	links := r.linksTo(own.SpanContext(), remote)
	if r.span == nil {
		opts := []trace.SpanStartOption{trace.WithLinks(links...)}
		if !p.t.child {
			opts = append(opts, trace.WithNewRoot())
		}
		return r.start(found, opts...)
	}
	for _, l := range links {
		r.span.AddLink(l)
	}
	if !own.SpanContext().IsValid() {
		own = r.span
	}
	return trace.ContextWithSpan(found, own)
}
