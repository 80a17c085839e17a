package graphotel_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/graphgen-go/graphgen/graphotel"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// work runs due threads of g in s, until so many runs have ended.
func work(tb testing.TB, g *app, s checkpoint.Saver, runs int) {
	tb.Helper()
	workIn(tb.Context(), tb, g, s, runs)
}

// workIn is work with a context for the worker.
func workIn(ctx context.Context, tb testing.TB, g *app, s checkpoint.Saver, runs int) {
	tb.Helper()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := worker.New(s, worker.Options{OnEvent: func(e worker.Event) {
		if e.Kind != worker.EventEnded {
			return
		}
		if runs--; runs <= 0 {
			stop()
		}
	}}, g)
	if err := w.Run(ctx); err != nil {
		tb.Fatal(err)
	}
}

func TestTheRunOfAWorkerLinksToTheSubmit(t *testing.T) {
	for name, c := range map[string]struct {
		opts  []graphotel.Option
		child bool
	}{
		"by default":         {nil, false},
		"with ContinueTrace": {[]graphotel.Option{graphotel.ContinueTrace()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := receive(t), memory.New()
			p := r.process(t)
			ctx, span := p.traces.Tracer("form").Start(t.Context(), "POST /orders")
			if _, err := questioner(t, p, s).Thread("t").Submit(ctx, JobUpdate{}); err != nil {
				t.Fatal(err)
			}
			span.End()
			got := p.take(t)
			submit := got.one(t, "POST /orders")
			if parent := got.parent(got.one(t, "graphgen.saver post")); parent != "POST /orders" {
				t.Errorf("the post has parent %q, want the span of the caller", parent)
			}

			other := r.process(t, c.opts...)
			reported := other.Saver(s)
			work(t, questionerOn(t, other, reported), reported, 1)
			got = other.take(t)
			run := got.one(t, "run orders")
			linked(t, run, submit, c.child)
			if run.Kind != traces.Span_SPAN_KIND_CONSUMER {
				t.Errorf("got kind %v, want a consumer", run.Kind)
			}
			want(t, run, map[string]string{"graphgen.run.worker": "true", "graphgen.run.resume": "false", "graphgen.thread.status": "waiting"})
			for _, s := range got {
				if !slices.Equal(s.TraceId, run.TraceId) {
					t.Errorf("span %q of the worker has another trace than its run", s.Name)
				}
			}
		})
	}
}

// TestEachRunOfAThreadLinksToTheRunBeforeIt submits an input and an answer, for one worker each.
func TestEachRunOfAThreadLinksToTheRunBeforeIt(t *testing.T) {
	r, s := receive(t), memory.New()
	form := r.process(t)
	g := questioner(t, form, s)
	if _, err := g.Thread("t").Submit(t.Context(), JobUpdate{}); err != nil {
		t.Fatal(err)
	}
	var runs []*traces.Span
	for range 2 {
		p := r.process(t)
		reported := p.Saver(s)
		work(t, questionerOn(t, p, reported), reported, 1)
		runs = append(runs, p.take(t).one(t, "run orders"))
		snap, err := g.Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range snap.Questions {
			if err := g.Thread("t").Answer(t.Context(), approve.Answer(q, true)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(runs[0].ParentSpanId) != 0 || len(runs[0].Links) != 0 {
		t.Errorf("the first run has parent %x and links %v, want none", runs[0].ParentSpanId, runs[0].Links)
	}
	linked(t, runs[1], runs[0], false)
	want(t, runs[1], map[string]string{"graphgen.thread.status": "done"})
}

// TestARunThatWaitsForItsThreadHasOneSpan reads the stored trace twice in one run.
func TestARunThatWaitsForItsThreadHasOneSpan(t *testing.T) {
	r, s := receive(t), memory.New()
	p := r.process(t)
	res := ends(t, graph.Waiting)(questioner(t, p, s).Thread("t").Invoke(t.Context(), JobUpdate{}))
	first := p.take(t).one(t, "run orders")
	held := &busy{Saver: s, times: 1}
	ctx, form := p.traces.Tracer("form").Start(t.Context(), "POST /answer")
	answer := approve.Answer(res.Questions[0], true)
	ends(t, graph.Done)(questionerOn(t, p, p.Saver(held)).Thread("t").Resume(ctx, answer, graph.Wait()))
	form.End()
	got := p.take(t)
	run := got.one(t, "run orders")
	if len(run.Links) != 1 || !slices.Equal(run.Links[0].SpanId, first.SpanId) || held.times != 0 {
		t.Errorf("got links %v, want one link to %x", run.Links, first.SpanId)
	}

	res = ends(t, graph.Waiting)(questioner(t, p, s).Thread("u").Invoke(t.Context(), JobUpdate{}))
	first = p.take(t).one(t, "run orders")
	held = &busy{Saver: s, times: 1}
	ends(t, graph.Done)(questionerOn(t, p, p.Saver(held)).Thread("u").Resume(t.Context(), approve.Answer(res.Questions[0], true), graph.Wait()))
	got = p.take(t)
	run = got.one(t, "run orders")
	linked(t, run, first, false)
	if held.times != 0 {
		t.Error("the thread was not busy")
	}
	for _, one := range append(got.named("task pay"), got.named("graphgen.saver append")...) {
		if path := got.path(one); !strings.HasPrefix(path, "run orders > ") {
			t.Errorf("got %q, want it in the run", path)
		}
	}
}

// busy is a saver whose threads are busy for some openings.
type busy struct {
	checkpoint.Saver

	times int
}

func (b *busy) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Open != nil && b.times > 0 {
		b.times--
		return checkpoint.AppendResult{}, &checkpoint.BusyError{Thread: a.Thread, Holder: "another process"}
	}
	return b.Saver.Append(ctx, a)
}

func TestATaskOfAQueueIsInTheTraceOfItsRun(t *testing.T) {
	r, s := receive(t), memory.New()
	p, other := r.process(t), r.process(t)
	queued := func(p *process, s checkpoint.Saver) *app {
		b := graph.New("orders", JobSchema)
		b.Node("video", say("encoded"), graph.Queue("gpu"))
		b.Chain(graph.Start, "video", graph.End)
		g, err := b.Compile(append(p.Options(), graph.Saver(s))...)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	th, there := queued(p, p.Saver(s)).Thread("t"), other.Saver(s)
	ends(t, graph.Waiting)(th.Invoke(t.Context(), JobUpdate{}))
	ctx, stop := context.WithCancel(t.Context())
	w := worker.New(there, worker.Options{Queues: map[string]int{"gpu": 1}, OnEvent: func(e worker.Event) {
		if e.Kind == worker.EventEnded {
			stop()
		}
	}}, queued(other, there))
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	ends(t, graph.Done)(th.Resume(t.Context()))
	p.flush(t)
	got := other.take(t)
	task := got.one(t, "task video")
	if path := got.path(task); path != "run orders > task video" {
		t.Errorf("got %q, want the task in the run that handed it out", path)
	}
	if task.Kind != traces.Span_SPAN_KIND_CONSUMER {
		t.Errorf("got kind %v, want a consumer", task.Kind)
	}
	want(t, task, map[string]string{"graphgen.queue": "gpu", "graphgen.step": "2", "graphgen.task.outcome": "done"})
}

func TestBaggageIsStoredWithTheThread(t *testing.T) {
	r, s := receive(t), memory.New()
	both := graphotel.Propagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	p := r.process(t, both)
	g := questioner(t, p, s)
	with := func(tenant string) context.Context {
		m, err := baggage.NewMember("tenant", tenant)
		if err != nil {
			t.Fatal(err)
		}
		all, err := baggage.New(m)
		if err != nil {
			t.Fatal(err)
		}
		return baggage.ContextWithBaggage(t.Context(), all)
	}
	small := ends(t, graph.Waiting)(g.Thread("t").Invoke(with("ada"), JobUpdate{}))
	snap, err := g.Thread("t").State(t.Context())
	if err != nil || snap.Metadata["baggage"] != "tenant=ada" {
		t.Errorf("got %v and %v, want the baggage", snap.Metadata, err)
	}
	large := ends(t, graph.Waiting)(g.Thread("large").Invoke(with(strings.Repeat("x", 3000)), JobUpdate{}))
	snap, err = g.Thread("large").State(t.Context())
	if err != nil || snap.Metadata["baggage"] != "" || snap.Metadata["traceparent"] == "" {
		t.Errorf("got %v and %v, want a trace without baggage", snap.Metadata, err)
	}

	seen := make(map[string]string) // by thread
	b := graph.New("orders", JobSchema)
	b.Node("check", say("checked"))
	b.Node("pay", func(ctx context.Context, _ Job) (u JobUpdate, err error) {
		seen[graph.CurrentTask(ctx).Thread] = baggage.FromContext(ctx).Member("tenant").Value()
		return u, nil
	}, approve)
	b.Chain(graph.Start, "check", "pay", graph.End)
	other := compile(t, b, r.process(t, both), s)
	ends(t, graph.Done)(other.Thread("t").Resume(t.Context(), approve.Answer(small.Questions[0], true)))
	ends(t, graph.Done)(other.Thread("large").Resume(with("grace"), approve.Answer(large.Questions[0], true)))
	if seen["t"] != "ada" || seen["large"] != "grace" {
		t.Errorf("got %v, want the stored baggage, and that of the caller if there is one", seen)
	}
}

func TestAnUnsampledRunStaysUnsampled(t *testing.T) {
	r, s := receive(t), memory.New()
	p := r.process(t)
	ends(t, graph.Waiting)(questioner(t, p, s).Thread("t").Invoke(unsampled(t), JobUpdate{}))
	snap, err := questioner(t, p, s).Thread("t").State(t.Context())
	if err != nil || !strings.HasPrefix(snap.Metadata["traceparent"], "00-0100") || !strings.HasSuffix(snap.Metadata["traceparent"], "-00") {
		t.Errorf("got %v and %v, want the trace of the caller, not sampled", snap.Metadata, err)
	}
	if got := p.take(t); len(got) != 0 {
		t.Errorf("got spans %v, want none", got.names())
	}
}

// unsampled returns a context with the span of another process, which is not sampled.
func unsampled(tb testing.TB) context.Context {
	tb.Helper()
	return trace.ContextWithSpanContext(tb.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true,
	}))
}

// TestASamplerDecidesAboutTheRunOfAWorker submits an input in a trace that is not sampled.
func TestASamplerDecidesAboutTheRunOfAWorker(t *testing.T) {
	for name, c := range map[string]struct {
		opts []graphotel.Option
		root bool // the sampler of roots decides, and samples
	}{
		"by default":         {nil, true},
		"with ContinueTrace": {[]graphotel.Option{graphotel.ContinueTrace()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, roots := memory.New(), &sampler{}
			provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(roots)))
			tel, err := graphotel.New(append(c.opts, graphotel.TracerProvider(provider), graphotel.MeterProvider(noop.NewMeterProvider()))...)
			if err != nil {
				t.Fatal(err)
			}
			p := &process{Telemetry: tel}
			reported := p.Saver(s)
			g := questionerOn(t, p, reported)
			if _, err := g.Thread("t").Submit(unsampled(t), JobUpdate{}); err != nil {
				t.Fatal(err)
			}
			work(t, g, reported, 1)
			snap, err := g.Thread("t").State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stored := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(), propagation.MapCarrier(snap.Metadata)))
			if !stored.IsValid() || stored.IsSampled() != c.root {
				t.Errorf("got the run %v, sampled: %v; want %v", stored.SpanID(), stored.IsSampled(), c.root)
			}
			if c.root != (len(roots.links) == 1 && roots.links[0].SpanContext.SpanID() == trace.SpanID{2}) {
				t.Errorf("the sampler of roots got the links %v, want that to the submit: %v", roots.links, c.root)
			}
		})
	}
}

// sampler samples everything, and keeps the links of the runs.
type sampler struct{ links []trace.Link }

// ShouldSample implements the sampler.
func (s *sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if p.Name == "run orders" {
		s.links = append(s.links, p.Links...)
	}
	return sdk.AlwaysSample().ShouldSample(p)
}

// Description implements the sampler.
func (s *sampler) Description() string { return "sampler" }
