package graphotel

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// run is a run in progress. Some runs continue a thread under a context without a span. They get
// their span when the trace context of the thread is known, because a sampler sees only the links
// of the start. The span has the time at which its run began.
type run struct {
	t     *Telemetry
	info  graph.RunInfo
	begun time.Time

	mu      sync.Mutex
	span    trace.Span // nil before it is started
	asked   bool       // the run has asked for values to store
	linked  map[spanID]bool
	waiting []call // calls of the saver before the span
}

type runKey struct{}

// runOf returns the innermost run around ctx, or nil.
func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// run implements graph.Interceptor.
func (t *Telemetry) run(ctx context.Context, info graph.RunInfo, next func(context.Context) (graph.Status, error)) error {
	r := &run{t: t, info: info, begun: time.Now()}
	ctx = context.WithValue(ctx, runKey{}, r)
	continues := info.Thread != "" && (info.Resume || info.Worker)
	if !continues || trace.SpanContextFromContext(ctx).IsValid() {
		ctx = r.start(ctx)
	}
	t.metrics.runStarts(ctx, info)
	status, err := graph.Status(0), graph.ErrGoexit
	defer func() { r.end(ctx, status, err) }()
	status, err = next(ctx)
	return err
}

// start starts the span as a child of the span in ctx, unless opts want a root. It returns a
// context with the span. The caller holds r.mu, or is the only user of r.
func (r *run) start(ctx context.Context, opts ...trace.SpanStartOption) context.Context {
	kind := trace.SpanKindInternal
	if r.info.Worker {
		kind = trace.SpanKindConsumer
	}
	attrs := append(place(r.info.Graph, r.info.Thread, nil, 0)[:1], ResumeKey.Bool(r.info.Resume), WorkerKey.Bool(r.info.Worker))
	if r.info.Thread != "" {
		attrs = append(attrs, ThreadKey.String(r.info.Thread))
	}
	ctx, r.span = r.t.tracer.Start(ctx, "run "+r.info.Graph,
		append(opts, trace.WithTimestamp(r.begun), trace.WithSpanKind(kind), trace.WithAttributes(attrs...))...)
	for i := range r.waiting {
		_, span := r.t.startCall(ctx, &r.waiting[i], trace.WithTimestamp(r.waiting[i].begun))
		r.t.endCall(span, &r.waiting[i], r.waiting[i].err, trace.WithTimestamp(r.waiting[i].ended))
	}
	r.waiting = nil
	return ctx
}

// within returns ctx with the span of the run, unless ctx has a span. It starts that span if the
// run has none.
func (r *run) within(ctx context.Context) context.Context {
	if r == nil || trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.span == nil {
		return r.start(ctx)
	}
	return trace.ContextWithSpan(ctx, r.span)
}

// hold keeps c until the span of the run starts. It reports false if that has started.
func (r *run) hold(c *call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.span == nil {
		r.waiting = append(r.waiting, *c)
	}
	return r.span == nil
}

// pending reports whether the run has no span yet.
func (r *run) pending() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.span == nil
}

// spanID names a span.
type spanID struct {
	trace trace.TraceID
	span  trace.SpanID
}

func idOf(c trace.SpanContext) spanID { return spanID{c.TraceID(), c.SpanID()} }

// linksTo returns a link to a stored span, once. It returns none if there is no stored span: then
// the context still has its own. The caller holds r.mu.
func (r *run) linksTo(own, stored trace.SpanContext) []trace.Link {
	id := idOf(stored)
	if !stored.IsValid() || id == idOf(own) || r.linked[id] {
		return nil
	}
	if r.linked == nil {
		r.linked = make(map[spanID]bool)
	}
	r.linked[id] = true
	return []trace.Link{{SpanContext: stored}}
}

// end ends the span and measures the run.
func (r *run) end(ctx context.Context, status graph.Status, err error) {
	ctx = r.within(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if status != 0 {
		r.span.SetAttributes(StatusKey.String(status.String()))
	}
	if status == graph.Ready { // the context of the run ended, or the graph was drained
		err = nil
	}
	if err != nil {
		recordOwn(r.span, err)
	}
	r.t.metrics.runEnds(ctx, r.info, status, err, time.Since(r.begun))
	r.span.End()
}
