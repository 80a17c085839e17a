package graphotel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestACancelledRunHasNoError(t *testing.T) {
	p := receive(t).process(t)
	ctx, cancel := context.WithCancel(t.Context())
	b := graph.New("orders", JobSchema)
	b.Node("pay", func(ctx context.Context, _ Job) (u JobUpdate, err error) {
		cancel()
		<-ctx.Done()
		return u, ctx.Err()
	})
	b.Chain(graph.Start, "pay", graph.End)
	if _, err := compile(t, b, p, memory.New()).Thread("t").Invoke(ctx, JobUpdate{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want a cancelled run", err)
	}
	got := p.take(t)
	want(t, got.one(t, "task pay"), map[string]string{"graphgen.task.outcome": "cancelled", "error.type": ""})
	want(t, got.one(t, "run orders"), map[string]string{"graphgen.thread.status": "ready", "error.type": ""})
	for _, name := range []string{"task pay", "run orders"} {
		if s := got.one(t, name); s.Status.GetCode() != traces.Status_STATUS_CODE_UNSET {
			t.Errorf("span %q: got status %v, want none", name, s.Status)
		}
	}
}

func TestANodeThatEndsItsGoroutineEndsItsSpan(t *testing.T) {
	p := receive(t).process(t)
	b := graph.New("orders", JobSchema)
	b.Node("pay", func(context.Context, Job) (JobUpdate, error) {
		runtime.Goexit()
		return JobUpdate{}, nil
	})
	b.Node("ship", say("shipped")) // so that pay does not run on the goroutine of the caller
	b.Chain(graph.Start, "pay", graph.End)
	b.Chain(graph.Start, "ship", graph.End)
	if _, err := compile(t, b, p, memory.New()).Thread("t").Invoke(t.Context(), JobUpdate{}); !errors.Is(err, graph.ErrGoexit) {
		t.Fatalf("got %v, want ErrGoexit", err)
	}
	got := p.take(t)
	for _, name := range []string{"task pay", "run orders"} {
		want(t, got.one(t, name), map[string]string{"error.type": "goexit"})
	}
	if n := values(p.metric(t, "graphgen.task.active")); n["graphgen.graph=orders graphgen.node=pay"] != 0 {
		t.Errorf("got active tasks %v, want none", n)
	}
}

func TestARouteThatFailsHasTheException(t *testing.T) {
	p := receive(t).process(t)
	b := graph.New("orders", JobSchema)
	b.Node("check", say("checked"))
	b.Edge(graph.Start, "check")
	b.Route("check", func(context.Context, Job) (graph.Next, error) { return graph.Next{}, errBroken }, graph.End)
	if _, err := compile(t, b, p, memory.New()).Thread("t").Invoke(t.Context(), JobUpdate{}); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	got := p.take(t)
	route := got.one(t, "route check")
	want(t, route, map[string]string{"error.type": "*errors.errorString", "graphgen.route.targets": ""})
	if len(route.Events) != 1 || len(got.one(t, "superstep").Events)+len(got.one(t, "run orders").Events) != 0 {
		t.Error("the exception is not on the route alone")
	}
	want(t, got.one(t, "run orders"), map[string]string{"error.type": "*errors.errorString"})
}

// declined and refunded are errors of a payment.
type (
	declined struct{}
	refunded struct{}
)

func (*declined) Error() string { return "declined" }
func (*refunded) Error() string { return "refunded" }

// named is an error that names its type.
type named struct{ *declined }

// ErrorType returns the value of error.type.
func (named) ErrorType() string { return "card_declined" }

func TestAnErrorHasTheTypeOfItsCause(t *testing.T) {
	p := receive(t).process(t)
	const of = "*graphotel_test."
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"plain":                    {errBroken, "*errors.errorString"},
		"wrapped":                  {fmt.Errorf("pay: %w", &declined{}), of + "declined"},
		"wrapped twice":            {fmt.Errorf("order: %w", fmt.Errorf("pay: %w", &declined{})), of + "declined"},
		"wrapped with another":     {fmt.Errorf("%w: %w", errBroken, &declined{}), of + "declined"},
		"the first of several":     {fmt.Errorf("%w: %w", &refunded{}, &declined{}), of + "refunded"},
		"joined":                   {errors.Join(errBroken, &declined{}), of + "declined"},
		"wrapped and joined":       {fmt.Errorf("pay: %w", errors.Join(&declined{}, errBroken)), of + "declined"},
		"several without a type":   {errors.Join(errBroken, fmt.Errorf("pay: %w", errBroken)), "*errors.errorString"},
		"an error with a name":     {errors.Join(errBroken, &refunded{}, fmt.Errorf("pay: %w", named{})), "card_declined"},
		"a known error that wraps": {fmt.Errorf("%w: %w", &declined{}, context.DeadlineExceeded), "deadline_exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New("orders", JobSchema)
			b.Node("pay", func(context.Context, Job) (u JobUpdate, err error) { return u, c.err })
			b.Chain(graph.Start, "pay", graph.End)
			if _, err := compile(t, b, p, memory.New()).Thread("t").Invoke(t.Context(), JobUpdate{}); !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			got := p.take(t)
			for _, span := range []string{"task pay", "run orders"} {
				want(t, got.one(t, span), map[string]string{"error.type": c.want})
			}
		})
	}
}

func TestSendsHaveTheirNumbers(t *testing.T) {
	p := receive(t).process(t)
	b := graph.New("orders", JobSchema)
	b.Node("split", say("split"))
	read := graph.TaskNode(b, "read", func(context.Context, Job, wire.Int) (JobUpdate, error) { return JobUpdate{}, nil })
	b.Edge(graph.Start, "split")
	b.Route("split", func(context.Context, Job) (next graph.Next, err error) {
		for i := range 2 {
			next.Add(read.Send(wire.Int(i)))
		}
		return next, nil
	}, "read")
	b.Edge("read", graph.End)
	ends(t, graph.Done)(compile(t, b, p, memory.New()).Thread("t").Invoke(t.Context(), JobUpdate{}))
	got := p.take(t)
	var numbers []string
	for _, s := range got.named("task read") {
		numbers = append(numbers, attributes(s.Attributes)["graphgen.send.index"])
	}
	if slices.Sort(numbers); !slices.Equal(numbers, []string{"0", "1"}) {
		t.Errorf("got the sends %q, want 0 and 1", numbers)
	}
	want(t, got.one(t, "route split"), map[string]string{"graphgen.route.targets": "[read]"})
}

func TestAWorkerWithASpanLinksToTheSubmit(t *testing.T) {
	r, s := receive(t), memory.New()
	p := r.process(t)
	ctx, form := p.traces.Tracer("form").Start(t.Context(), "POST /orders")
	g := questioner(t, p, s)
	if _, err := g.Thread("t").Submit(ctx, JobUpdate{}); err != nil {
		t.Fatal(err)
	}
	form.End()
	reported := p.Saver(s)
	ctx, batch := p.traces.Tracer("batch").Start(t.Context(), "batch")
	workIn(ctx, t, questionerOn(t, p, reported), reported, 1)
	batch.End()
	got := p.take(t)
	run := got.one(t, "run orders")
	if parent := got.parent(run); parent != "batch" || len(run.Links) != 1 || !slices.Equal(run.Links[0].SpanId, got.one(t, "POST /orders").SpanId) {
		t.Errorf("got parent %q and links %v, want the batch, and a link to the submit", parent, run.Links)
	}
}
