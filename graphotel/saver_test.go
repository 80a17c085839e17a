package graphotel_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/graphgen-go/graphgen/graphotel"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestConformance(t *testing.T) {
	spans := trace.NewTracerProvider(trace.WithSyncer(tracetest.NewNoopExporter()))
	tel, err := graphotel.New(graphotel.TracerProvider(spans),
		graphotel.MeterProvider(metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))))
	if err != nil {
		t.Fatal(err)
	}
	savertest.Run(t, func(testing.TB) savertest.Storage {
		return savertest.Storage{Open: func() (checkpoint.Saver, error) { return tel.Saver(memory.New()), nil }}
	}, savertest.Without("the wrapper passes arguments and results on unchanged, one method like the other; the random calls call each",
		savertest.Writes, savertest.Outcomes, savertest.Schemas, savertest.Leases, savertest.Versions, savertest.Wakes, savertest.Inbox))
}

func TestASaverIsANotifierIfItsInnerOneIs(t *testing.T) {
	p := receive(t).process(t)
	inner := memory.New()
	n, ok := p.Saver(inner).(checkpoint.Notifier)
	if !ok {
		t.Fatal("a saver over a Notifier is none")
	}
	notices := make(chan checkpoint.Notice, 8)
	stop, err := n.Notify(t.Context(), func(n checkpoint.Notice) { notices <- n })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if _, err := questionerOn(t, p, n.(checkpoint.Saver)).Thread("t").Submit(t.Context(), JobUpdate{}); err != nil {
		t.Fatal(err)
	}
	if got := <-notices; got.Thread != "t" || got.Graph != "orders" {
		t.Errorf("got %+v, want thread t", got)
	}
	if _, ok := p.Saver(hidden{inner}).(checkpoint.Notifier); ok {
		t.Error("a saver over one that is no Notifier is one")
	}
}

// hidden is a saver that is no Notifier.
type hidden struct{ checkpoint.Saver }

func TestPostsThroughAnotherSaverAreChangedAndReported(t *testing.T) {
	p := receive(t).process(t)
	inner := memory.New()
	sealed, err := encrypt.New(inner, encrypt.Key{ID: "k", Secret: make([]byte, encrypt.SecretSize)})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Saver(sealed)
	ctx, span := p.traces.Tracer("form").Start(t.Context(), "form")
	if _, err := questionerOn(t, p, s).Via(inner).Thread("t").Submit(ctx, JobUpdate{}); err != nil {
		t.Fatal(err)
	}
	span.End()
	post := p.take(t).one(t, "graphgen.saver post")
	want(t, post, map[string]string{"graphgen.thread": "t", "graphgen.saver.operation": "post"})
	stored, err := inner.Mail(t.Context(), checkpoint.MailQuery{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) != 1 || len(plain) != 1 || string(stored[0].Payload) == string(plain[0].Payload) {
		t.Errorf("the payload is stored as %q, want it encrypted", stored[0].Payload)
	}
}

func TestCallsOfASaverHaveSpansAndErrors(t *testing.T) {
	p := receive(t).process(t)
	s := p.Saver(memory.New())
	if _, err := s.Versions(t.Context(), "t"); err != nil { // without a span around it
		t.Fatal(err)
	}
	ctx, span := p.traces.Tracer("tool").Start(t.Context(), "tool")
	if _, err := s.Release(ctx, "t", checkpoint.ID{}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := s.Load(ctx, checkpoint.Ref{}); err == nil {
		t.Fatal("a load without a thread succeeded")
	}
	for _, err := range s.History(ctx, checkpoint.Ref{Thread: "t", Version: 7}, checkpoint.Query{}) {
		if err == nil {
			t.Fatal("a version that does not exist has a history")
		}
		break
	}
	span.End()
	got := p.take(t)
	if len(got.named("graphgen.saver versions")) != 0 {
		t.Error("a call without a span around it has a span")
	}
	for name, kind := range map[string]string{
		"release": "not_found", "history": "not_found",
		"load": "github.com/graphgen-go/graphgen/runtime/checkpoint.InvalidError",
	} {
		one := got.one(t, "graphgen.saver "+name)
		if kind[0] == 'g' {
			kind = "*" + kind[len("github.com/graphgen-go/graphgen/runtime/"):]
		}
		want(t, one, map[string]string{"error.type": kind})
		if one.Status.GetCode() != traces.Status_STATUS_CODE_ERROR || one.Kind != traces.Span_SPAN_KIND_CLIENT {
			t.Errorf("%s: got status %v and kind %v, want an error of a client", name, one.Status, one.Kind)
		}
		if parent := got.parent(one); parent != "tool" {
			t.Errorf("%s: got parent %q", name, parent)
		}
	}
	points := p.histogram(t, "graphgen.saver.duration")
	for _, key := range []string{"versions", "release error.type=not_found", "history error.type=not_found"} {
		if points["graphgen.saver.operation="+key] != 1 {
			t.Errorf("got %v, want one call %s", points, key)
		}
	}
}

func TestSaversHaveTheirAttributes(t *testing.T) {
	p := receive(t).process(t)
	database := p.Saver(hidden{memory.New()}, graphotel.SaverAttributes(semconv.DBSystemNamePostgreSQL, semconv.DBNamespace("orders")))
	files := p.Saver(memory.New(), graphotel.SaverAttributes(attribute.String("folder", "archive")))
	for _, s := range []checkpoint.Saver{database, files, p.Saver(memory.New())} {
		if _, err := p.WatchThreads(s); err != nil {
			t.Fatal(err)
		}
		ctx, span := p.traces.Tracer("form").Start(t.Context(), "form")
		if _, err := questionerOn(t, p, s).Thread("t").Submit(ctx, JobUpdate{}); err != nil {
			t.Fatal(err)
		}
		span.End()
	}
	posts := p.take(t).named("graphgen.saver post")
	if len(posts) != 3 {
		t.Fatalf("got %v, want three posts", posts.names())
	}
	want(t, posts[0], map[string]string{"db.system.name": "postgresql", "db.namespace": "orders", "db.operation.name": "post", "folder": ""})
	want(t, posts[1], map[string]string{"db.system.name": "", "db.operation.name": "", "folder": "archive"})
	want(t, posts[2], map[string]string{"db.system.name": "", "db.operation.name": "", "folder": ""})

	ready := "graphgen.graph=orders graphgen.thread.status=ready"
	threads := map[string]float64{"db.namespace=orders db.system.name=postgresql " + ready: 1, "folder=archive " + ready: 1, ready: 1}
	if got := values(p.metric(t, "graphgen.threads")); !maps.Equal(got, threads) {
		t.Errorf("got threads %v, want %v", got, threads)
	}
	calls := p.histogram(t, "graphgen.saver.duration")
	for _, of := range []string{"db.namespace=orders db.system.name=postgresql ", "folder=archive ", ""} {
		if calls[of+"graphgen.saver.operation=post"] != 1 {
			t.Errorf("got calls %v, want one post with %q", calls, of)
		}
	}
	unread := map[string]float64{"db.namespace=orders db.system.name=postgresql": 0, "folder=archive": 0, "": 0}
	if got := values(p.metric(t, "graphgen.threads.unread")); !maps.Equal(got, unread) {
		t.Errorf("got unread %v, want %v", got, unread)
	}
}

// questionerOn is questioner on a saver that is reported already.
func questionerOn(tb testing.TB, p *process, s checkpoint.Saver) *app {
	tb.Helper()
	b := graph.New("orders", JobSchema)
	b.Node("check", say("checked"))
	b.Node("pay", asks, approve)
	b.Chain(graph.Start, "check", "pay", graph.End)
	g, err := b.Compile(append(p.Options(), graph.Saver(s))...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// broken is a saver whose listings fail.
type broken struct{ checkpoint.Saver }

func (broken) Ready(context.Context, checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	return checkpoint.ReadyThreads{}, checkpoint.ErrUnavailable
}
