package graphotel_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/graphgen-go/graphgen/graphotel"
	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type app = graph.Graph[Job, JobUpdate]

var (
	approve   = graph.NewQuestion[wire.String, wire.Bool]("approve")
	errBroken = errors.New("it broke")
)

// say is a node that logs a line.
func say(line string) func(context.Context, Job) (JobUpdate, error) {
	return func(context.Context, Job) (u JobUpdate, err error) {
		u.Log.Append(line)
		return u, nil
	}
}

// asks is a node that asks a person.
func asks(ctx context.Context, _ Job) (u JobUpdate, err error) {
	if _, err := approve.Ask(ctx, "pay?"); err != nil {
		return u, err
	}
	u.Log.Append("approved")
	return u, nil
}

// compile compiles b with the options of the telemetry of p, and a saver that p reports.
func compile(tb testing.TB, b *graph.Builder[Job, JobUpdate], p *process, s checkpoint.Saver, opts ...graph.Option) *app {
	tb.Helper()
	g, err := b.Compile(append(append(p.Options(), graph.Saver(p.Saver(s))), opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// ends checks how a run ended.
func ends(tb testing.TB, status graph.Status) func(graph.Result[Job], error) graph.Result[Job] {
	tb.Helper()
	return func(res graph.Result[Job], err error) graph.Result[Job] {
		tb.Helper()
		if err != nil || res.Status != status {
			tb.Fatalf("got %s and %v, want %s", res.Status, err, status)
		}
		return res
	}
}

// questioner is a graph whose second node asks a person.
func questioner(tb testing.TB, p *process, s checkpoint.Saver) *app {
	tb.Helper()
	b := graph.New("orders", JobSchema)
	b.Node("check", say("checked"))
	b.Node("pay", asks, approve)
	b.Chain(graph.Start, "check", "pay", graph.End)
	return compile(tb, b, p, s)
}

func TestSpansOfARun(t *testing.T) {
	p := receive(t).process(t)
	b := graph.New("orders", JobSchema)
	b.Node("check", say("checked"))
	b.Node("ship", say("shipped"))
	b.Edge(graph.Start, "check")
	b.Route("check", func(context.Context, Job) (graph.Next, error) { return graph.To("ship"), nil }, "ship")
	b.Edge("ship", graph.End)
	g := compile(t, b, p, memory.New())
	ends(t, graph.Done)(g.Thread("order-7").Invoke(t.Context(), JobUpdate{}))
	got := p.take(t)
	run := got.one(t, "run orders")
	want(t, run, map[string]string{
		"graphgen.graph": "orders", "graphgen.thread": "order-7", "graphgen.run.resume": "false", "graphgen.run.worker": "false",
		"graphgen.thread.status": "done", "graphgen.step": "", "error.type": "",
	})
	if len(run.ParentSpanId) != 0 || len(run.Links) != 0 {
		t.Errorf("the run has parent %x and links %v, want none", run.ParentSpanId, run.Links)
	}
	var paths []string
	for _, s := range got {
		if s.Status.GetCode() != traces.Status_STATUS_CODE_UNSET {
			t.Errorf("span %q has status %v, want none", s.Name, s.Status)
		}
		if !slices.Equal(s.TraceId, run.TraceId) {
			t.Errorf("span %q has another trace than the run", s.Name)
		}
		if !strings.HasPrefix(s.Name, "graphgen.saver") {
			paths = append(paths, got.path(s))
		}
	}
	tree := []string{
		"run orders",
		"run orders > superstep", "run orders > superstep > task check", "run orders > superstep > route check",
		"run orders > superstep", "run orders > superstep > task ship",
	}
	if !slices.Equal(paths, tree) {
		t.Errorf("got %q, want %q", paths, tree)
	}
	want(t, got.one(t, "task check"), map[string]string{
		"graphgen.graph": "orders", "graphgen.thread": "order-7", "graphgen.step": "2", "graphgen.node": "check", "graphgen.node.kind": "node",
		"graphgen.task.attempt": "1", "graphgen.task.outcome": "done", "graphgen.path": "",
	})
	want(t, got.one(t, "route check"), map[string]string{"graphgen.node": "check", "graphgen.step": "2", "graphgen.route.targets": "[ship]"})
	if appends := got.named("graphgen.saver append"); len(appends) == 0 || attributes(appends[0].Attributes)["graphgen.thread"] != "order-7" {
		t.Errorf("got %d spans of appends, want those of the thread", len(appends))
	}
	for _, s := range got.named("graphgen.saver append") {
		if parent := got.parent(s); parent != "run orders" && parent != "superstep" {
			t.Errorf("an append has parent %q, want the run or a superstep", parent)
		}
	}
}

func TestAResumeInAnotherProcessLinksToTheStoredRun(t *testing.T) {
	r, s := receive(t), memory.New()
	p := r.process(t)
	res := ends(t, graph.Waiting)(questioner(t, p, s).Thread("t").Invoke(t.Context(), JobUpdate{}))
	got := p.take(t)
	first := got.one(t, "run orders")
	want(t, got.one(t, "task pay"), map[string]string{"graphgen.task.outcome": "waiting", "error.type": ""})
	for _, s := range got {
		if s.Status.GetCode() == traces.Status_STATUS_CODE_ERROR {
			t.Errorf("span %q has an error %v, because its thread waits", s.Name, s.Status)
		}
	}

	other := r.process(t)
	ctx, span := other.traces.Tracer("form").Start(t.Context(), "POST /answer")
	ends(t, graph.Done)(questioner(t, other, s).Thread("t").Resume(ctx, approve.Answer(res.Questions[0], true)))
	span.End()
	got = other.take(t)
	second := got.one(t, "run orders")
	if parent := got.parent(second); parent != "POST /answer" {
		t.Errorf("got parent %q, want the span of the caller", parent)
	}
	if len(second.Links) != 1 || !slices.Equal(second.Links[0].SpanId, first.SpanId) || !slices.Equal(second.Links[0].TraceId, first.TraceId) {
		t.Errorf("got links %v, want one to span %x", second.Links, first.SpanId)
	}
	want(t, second, map[string]string{"graphgen.run.resume": "true", "graphgen.thread.status": "done"})
}

func TestAResumeWithoutASpanLinksToTheStoredRun(t *testing.T) {
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
			res := ends(t, graph.Waiting)(questioner(t, p, s).Thread("t").Invoke(t.Context(), JobUpdate{}))
			first := p.take(t).one(t, "run orders")

			other := r.process(t, c.opts...)
			ends(t, graph.Done)(questioner(t, other, s).Thread("t").Resume(t.Context(), approve.Answer(res.Questions[0], true)))
			got := other.take(t)
			second := got.one(t, "run orders")
			linked(t, second, first, c.child)
			load := got.one(t, "graphgen.saver load") // before the trace was known
			if parent := got.parent(load); parent != "run orders" {
				t.Errorf("the load has parent %q, want the run", parent)
			}
			if load.StartTimeUnixNano < second.StartTimeUnixNano || load.EndTimeUnixNano > second.EndTimeUnixNano {
				t.Error("the load is not within the run")
			}
		})
	}
}

// linked checks that a run has one link, to a stored span. The run must be a child of that span,
// or the root of another trace.
func linked(tb testing.TB, run, stored *traces.Span, child bool) {
	tb.Helper()
	if len(run.Links) != 1 || !slices.Equal(run.Links[0].SpanId, stored.SpanId) || !slices.Equal(run.Links[0].TraceId, stored.TraceId) {
		tb.Errorf("got links %v, want one to span %x of trace %x", run.Links, stored.SpanId, stored.TraceId)
	}
	var parent []byte
	if child {
		parent = stored.SpanId
	}
	if !slices.Equal(run.ParentSpanId, parent) || slices.Equal(run.TraceId, stored.TraceId) != child {
		tb.Errorf("got trace %x and parent %x of the run; the stored span is %x in trace %x, and the run is a child: %v",
			run.TraceId, run.ParentSpanId, stored.SpanId, stored.TraceId, child)
	}
}

func TestAResumeOfAThreadWithoutATraceBeginsOne(t *testing.T) {
	r, s := receive(t), memory.New()
	b := graph.New("orders", JobSchema)
	b.Node("check", say("checked"))
	b.Node("pay", asks, approve)
	b.Chain(graph.Start, "check", "pay", graph.End)
	plain, err := b.Compile(graph.Saver(s))
	if err != nil {
		t.Fatal(err)
	}
	res := ends(t, graph.Waiting)(plain.Thread("t").Invoke(t.Context(), JobUpdate{}))
	p := r.process(t)
	g := questioner(t, p, s)
	ends(t, graph.Done)(g.Thread("t").Resume(t.Context(), approve.Answer(res.Questions[0], true)))
	got := p.take(t)
	run := got.one(t, "run orders")
	if len(run.ParentSpanId) != 0 {
		t.Errorf("got parent %x, want none", run.ParentSpanId)
	}
	if path := got.path(got.one(t, "task pay")); path != "run orders > superstep > task pay" {
		t.Errorf("got %q", path)
	}
	snap, err := g.Thread("t").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stored := snap.Metadata["traceparent"]; !strings.Contains(stored, hexOf(run.SpanId)) {
		t.Errorf("the thread has traceparent %q, want one with span %x", stored, run.SpanId)
	}
}

func TestErrorsOfTasksAndRuns(t *testing.T) {
	p := receive(t).process(t)
	for name, c := range map[string]struct {
		node func(context.Context, Job) (JobUpdate, error)
		want string // error.type
	}{
		"error": {func(context.Context, Job) (u JobUpdate, err error) { return u, errBroken }, "*errors.errorString"},
		"panic": {func(context.Context, Job) (JobUpdate, error) { panic("bang") }, "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New("orders", JobSchema)
			b.Node("pay", c.node, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
			b.Chain(graph.Start, "pay", graph.End)
			g := compile(t, b, p, memory.New())
			if _, err := g.Thread("t").Invoke(t.Context(), JobUpdate{}); err == nil {
				t.Fatal("the run succeeded")
			}
			got := p.take(t)
			tasks := got.named("task pay")
			if len(tasks) == 0 {
				t.Fatalf("got %v, want tasks", got.names())
			}
			last := tasks[len(tasks)-1]
			want(t, last, map[string]string{"graphgen.task.outcome": "failed", "error.type": c.want})
			if name == "error" {
				want(t, tasks[0], map[string]string{"graphgen.task.outcome": "retrying", "graphgen.task.attempt": "1", "error.type": c.want})
				want(t, last, map[string]string{"graphgen.task.attempt": "2"})
			}
			for _, s := range []*traces.Span{last, got.one(t, "superstep"), got.one(t, "run orders")} {
				if s.Status.GetCode() != traces.Status_STATUS_CODE_ERROR {
					t.Errorf("span %q has status %v, want an error", s.Name, s.Status)
				}
			}
			want(t, got.one(t, "run orders"), map[string]string{"graphgen.thread.status": "failed", "error.type": c.want})
			if n := len(got.one(t, "run orders").Events); n != 0 {
				t.Errorf("the run has %d events, want none, because the task has the exception", n)
			}
			if len(last.Events) != 1 || last.Events[0].Name != "exception" {
				t.Fatalf("got events %v, want one exception", last.Events)
			}
			if stack := attributes(last.Events[0].Attributes)["exception.stacktrace"]; (name == "panic") != strings.Contains(stack, "trace_test.go") {
				t.Errorf("got stack %q of an %s", stack, name)
			}
		})
	}
}

func TestSubgraphsAreChildrenOfTheirTasks(t *testing.T) {
	p := receive(t).process(t)
	child := graph.New("payment", JobSchema)
	child.Node("charge", say("charged"))
	child.Chain(graph.Start, "charge", graph.End)
	b := graph.New("orders", JobSchema)
	// The child is also a graph with threads, so both graphs have the options.
	b.Subgraph("pay", compile(t, child, p, memory.New()))
	b.Chain(graph.Start, "pay", graph.End)
	g := compile(t, b, p, memory.New())
	ends(t, graph.Done)(g.Thread("t").Invoke(t.Context(), JobUpdate{}))
	got := p.take(t)
	charge := got.one(t, "task charge")
	if path := got.path(charge); path != "run orders > superstep > task pay > superstep > task charge" {
		t.Errorf("got %q", path)
	}
	want(t, charge, map[string]string{"graphgen.graph": "payment", "graphgen.path": "pay", "graphgen.thread": "t"})
	want(t, got.one(t, "task pay"), map[string]string{"graphgen.node.kind": "subgraph"})
	if n := total(p.metric(t, "graphgen.superstep.commits")); n != 2 {
		t.Errorf("got %v commits, want 2", n)
	}
}

func TestNodesGetTheSpanOfTheirTask(t *testing.T) {
	p := receive(t).process(t)
	b := graph.New("orders", JobSchema)
	b.Node("call", func(ctx context.Context, _ Job) (u JobUpdate, err error) {
		_, span := p.traces.Tracer("http").Start(ctx, "GET /price")
		span.End()
		return u, nil
	})
	b.Chain(graph.Start, "call", graph.End)
	g, err := b.Compile(p.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	ends(t, graph.Done)(g.Run(t.Context(), JobUpdate{}))
	got := p.take(t)
	if path := got.path(got.one(t, "GET /price")); path != "run orders > superstep > task call > GET /price" {
		t.Errorf("got %q", path)
	}
	want(t, got.one(t, "run orders"), map[string]string{"graphgen.thread": ""})
}

func TestNewWithGlobalProviders(t *testing.T) {
	tel, err := graphotel.New()
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New("orders", JobSchema)
	b.Node("check", say("checked"))
	b.Chain(graph.Start, "check", graph.End)
	g, err := b.Compile(append(tel.Options(), graph.Saver(tel.Saver(memory.New())))...)
	if err != nil {
		t.Fatal(err)
	}
	ends(t, graph.Done)(g.Thread("t").Invoke(t.Context(), JobUpdate{}))
	snap, err := g.Thread("t").State(t.Context())
	if err != nil || len(snap.Metadata) != 0 {
		t.Errorf("got metadata %v and %v, want none of a provider that does nothing", snap.Metadata, err)
	}
}

// TestSpansNameTheirCheckpoints follows the address in a span to a checkpoint of the thread.
func TestSpansNameTheirCheckpoints(t *testing.T) {
	const base = "https://ops.example.com/inspect/"
	p := receive(t).process(t, graphotel.CheckpointURL(func(thread string, id checkpoint.ID) string {
		return inspect.CheckpointURL(base, thread, id)
	}))
	s := memory.New()
	g := questioner(t, p, s)
	ends(t, graph.Waiting)(g.Thread("order-7").Invoke(t.Context(), JobUpdate{}))
	snap, err := g.Thread("order-7").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pages, err := inspect.New(s, inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	site := httptest.NewServer(http.StripPrefix("/inspect", pages))
	defer site.Close()
	var ids []string
	for _, span := range p.take(t) {
		attrs := attributes(span.Attributes)
		id, url := attrs["graphgen.checkpoint"], attrs["graphgen.checkpoint.url"]
		if id == "" && url == "" {
			continue
		}
		if span.Name == "superstep" {
			ids = append(ids, id)
		}
		res, err := http.Get(strings.Replace(url, "https://ops.example.com", site.URL, 1))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || !strings.Contains(url, id) {
			t.Errorf("span %q: GET %s: got %s", span.Name, url, res.Status)
		}
	}
	if !slices.Contains(ids, snap.Checkpoint.String()) {
		t.Errorf("the supersteps have stored %q, want the head %s among them", ids, snap.Checkpoint)
	}
	p = receive(t).process(t)
	ends(t, graph.Waiting)(questioner(t, p, memory.New()).Thread("t").Invoke(t.Context(), JobUpdate{}))
	for _, span := range p.take(t) {
		if url := attributes(span.Attributes)["graphgen.checkpoint.url"]; url != "" {
			t.Errorf("without the option, span %q has the address %s", span.Name, url)
		}
	}
}
