package graphotel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// scope is a superstep, a task or a route around a context. A graph with the options of a
// Telemetry can also be a subgraph of one. Then the interceptors of both wrap the same work, and
// the inner ones find its scope.
type scope struct {
	t       *Telemetry
	kind    scopeKind
	graph   string
	depth   int // of subgraph calls
	step    int
	node    graph.ID
	index   int
	attempt int

	committed bool // of a superstep: its commit was counted; the goroutine of the run uses it
}

type scopeKind uint8

const (
	ofStep scopeKind = iota + 1
	ofTask
	ofRoute
)

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// enter returns ctx with s, and reports false if ctx has an equal scope.
func enter(ctx context.Context, s *scope) (context.Context, bool) {
	if around := scopeOf(ctx); around != nil {
		same := *around
		if same.committed = false; same == *s {
			return ctx, false
		}
	}
	return context.WithValue(ctx, scopeKey{}, s), true
}

// step implements graph.Interceptor.
func (t *Telemetry) step(ctx context.Context, s graph.StepInfo, next func(context.Context) (graph.Status, error)) error {
	ctx, first := enter(ctx, &scope{t: t, kind: ofStep, graph: s.Graph, depth: len(s.Path), step: s.Step})
	if !first {
		_, err := next(ctx)
		return err
	}
	begun := time.Now()
	ctx, span := t.tracer.Start(runOf(ctx).within(ctx), "superstep", trace.WithTimestamp(begun))
	recording := span.IsRecording()
	if recording {
		span.SetAttributes(place(s.Graph, s.Thread, s.Path, s.Step)...)
	}
	status, err := graph.Status(0), graph.ErrGoexit
	defer func() {
		if recording && status != 0 {
			span.SetAttributes(StatusKey.String(status.String()))
		}
		if err != nil && status != graph.Ready {
			recordOwn(span, err)
		}
		t.metrics.stepEnds(ctx, s.Graph, err, time.Since(begun))
		span.End()
	}()
	status, err = next(ctx)
	return err
}

// task implements graph.Interceptor.
func (t *Telemetry) task(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
	ctx, first := enter(ctx, &scope{
		t: t, kind: ofTask, graph: i.Graph, depth: len(i.Path), step: i.Step, node: i.Node, index: i.Index, attempt: i.Attempt,
	})
	if !first {
		_, err := next(ctx)
		return err
	}
	begun := time.Now()
	kind := trace.SpanKindInternal
	if i.Queue != "" {
		kind = trace.SpanKindConsumer
	}
	ctx, span := t.tracer.Start(runOf(ctx).within(ctx), "task "+string(i.Node), trace.WithTimestamp(begun), trace.WithSpanKind(kind))
	recording := span.IsRecording()
	if recording {
		span.SetAttributes(ofTaskSpan(ctx, &i)...)
	}
	t.metrics.taskStarts(ctx, &i)
	outcome, err := graph.OutcomeFailed, graph.ErrGoexit
	defer func() {
		failed := err
		if outcome != graph.OutcomeFailed && outcome != graph.OutcomeRetrying {
			failed = nil
		}
		if recording {
			span.SetAttributes(OutcomeKey.String(outcome.String()))
		}
		if failed != nil {
			record(span, failed)
		}
		t.metrics.taskEnds(ctx, &i, outcome, failed, time.Since(begun))
		span.End()
	}()
	outcome, err = next(ctx)
	return err
}

// ofTaskSpan returns the attributes of the span of a task.
func ofTaskSpan(ctx context.Context, i *graph.TaskInfo) []attribute.KeyValue {
	attrs := append(place(i.Graph, i.Thread, i.Path, i.Step),
		NodeKey.String(string(i.Node)), NodeKindKey.String(string(i.Kind)), AttemptKey.Int(i.Attempt), TaskKey.String(graph.CurrentTask(ctx).Key))
	if i.Index != 0 || i.Kind == graph.KindTask {
		attrs = append(attrs, IndexKey.Int(i.Index))
	}
	if i.Fallback {
		attrs = append(attrs, FallbackKey.Bool(true))
	}
	if i.Queue != "" {
		attrs = append(attrs, QueueKey.String(i.Queue))
	}
	return attrs
}

// route implements graph.Interceptor.
func (t *Telemetry) route(ctx context.Context, i graph.RouteInfo, next func(context.Context) ([]graph.ID, error)) error {
	ctx, first := enter(ctx, &scope{t: t, kind: ofRoute, graph: i.Graph, depth: len(i.Path), step: i.Step, node: i.Node})
	if !first {
		_, err := next(ctx)
		return err
	}
	ctx, span := t.tracer.Start(runOf(ctx).within(ctx), "route "+string(i.Node))
	if span.IsRecording() {
		span.SetAttributes(append(place(i.Graph, i.Thread, i.Path, i.Step), NodeKey.String(string(i.Node)))...)
	}
	targets, err := []graph.ID(nil), graph.ErrGoexit
	defer func() {
		if err != nil {
			record(span, err)
		} else if span.IsRecording() {
			span.SetAttributes(targetsOf(targets))
		}
		span.End()
	}()
	targets, err = next(ctx)
	return err
}

// maxTargets is the number of targets of a route that its span has. A route can send to thousands.
const maxTargets = 32

func targetsOf(ids []graph.ID) attribute.KeyValue {
	var names []string
	for _, id := range ids[:min(len(ids), maxTargets)] {
		if !slices.Contains(names, string(id)) {
			names = append(names, string(id))
		}
	}
	return TargetsKey.StringSlice(names)
}

// commits counts the commits of supersteps.
type commits struct{ t *Telemetry }

// Observe implements graph.Observer.
func (c commits) Observe(ctx context.Context, o graph.RunEvent) {
	if o.Kind != graph.EventCheckpoint {
		return
	}
	if s := scopeOf(ctx); s != nil && s.t == c.t && s.kind == ofStep && !s.committed {
		s.committed = true
		c.t.metrics.commit(ctx, o.Graph)
	}
}
