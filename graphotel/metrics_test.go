package graphotel_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/graphgen-go/graphgen/graphotel"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// metric flushes p, and returns the newest metric with a name.
func (p *process) metric(tb testing.TB, name string) *metrics.Metric {
	tb.Helper()
	p.flush(tb)
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	m := p.r.metrics[name]
	if m == nil {
		tb.Fatalf("there is no metric %q", name)
	}
	return m
}

// total returns the sum of all points of a metric with integers.
func total(m *metrics.Metric) (n int64) {
	for _, v := range values(m) {
		n += int64(v)
	}
	return n
}

// values returns the points of a sum or a gauge, by their attributes.
func values(m *metrics.Metric) map[string]float64 {
	got := make(map[string]float64)
	for _, p := range append(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()...) {
		got[labels(p.Attributes)] = p.GetAsDouble() + float64(p.GetAsInt())
	}
	return got
}

// histogram returns the counts of a histogram, by attributes.
func (p *process) histogram(tb testing.TB, name string) map[string]uint64 {
	tb.Helper()
	m := p.metric(tb, name)
	if m.Unit != "s" {
		tb.Errorf("%s has unit %q, want s", name, m.Unit)
	}
	got := make(map[string]uint64)
	for _, p := range m.GetHistogram().GetDataPoints() {
		got[labels(p.Attributes)] = p.Count
	}
	return got
}

// labels returns attributes as text, in order of their names.
func labels(attrs []*common.KeyValue) string {
	all := attributes(attrs)
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, key+"="+all[key])
	}
	slices.SortStableFunc(parts, func(a, b string) int { // error.type last
		return strings.Compare(strings.Replace(a, "error", "z", 1), strings.Replace(b, "error", "z", 1))
	})
	return strings.Join(parts, " ")
}

func TestMetricsOfRuns(t *testing.T) {
	p := receive(t).process(t)
	attempts := 0
	b := graph.New("orders", JobSchema)
	b.Node("pay", func(context.Context, Job) (u JobUpdate, err error) {
		if attempts++; attempts < 3 {
			return u, errBroken
		}
		return u, nil
	}, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: 1}))
	b.Node("ship", func(context.Context, Job) (u JobUpdate, err error) { return u, errBroken })
	b.Chain(graph.Start, "pay", "ship", graph.End)
	g := compile(t, b, p, memory.New())
	if _, err := g.Thread("t").Invoke(t.Context(), JobUpdate{}); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	res := ends(t, graph.Waiting)(questioner(t, p, memory.New()).Thread("t").Invoke(t.Context(), JobUpdate{}))
	if len(res.Questions) != 1 {
		t.Fatal("no question")
	}
	broke := " error.type=*errors.errorString"
	for name, c := range map[string]struct{ got, want any }{
		"tasks": {p.histogram(t, "graphgen.task.duration"), map[string]uint64{
			"graphgen.graph=orders graphgen.node=pay graphgen.task.outcome=retrying" + broke: 2,
			"graphgen.graph=orders graphgen.node=pay graphgen.task.outcome=done":             1,
			"graphgen.graph=orders graphgen.node=ship graphgen.task.outcome=failed" + broke:  1,
			"graphgen.graph=orders graphgen.node=check graphgen.task.outcome=done":           1,
			"graphgen.graph=orders graphgen.node=pay graphgen.task.outcome=waiting":          1,
		}},
		"runs": {p.histogram(t, "graphgen.run.duration"), map[string]uint64{
			"graphgen.graph=orders graphgen.thread.status=failed" + broke: 1,
			"graphgen.graph=orders graphgen.thread.status=waiting":        1,
		}},
		"supersteps": {p.histogram(t, "graphgen.superstep.duration"), map[string]uint64{
			"graphgen.graph=orders": 3, "graphgen.graph=orders" + broke: 1,
		}},
		"commits":     {values(p.metric(t, "graphgen.superstep.commits")), map[string]float64{"graphgen.graph=orders": 2}},
		"retries":     {values(p.metric(t, "graphgen.task.retries")), map[string]float64{"graphgen.graph=orders graphgen.node=pay": 2}},
		"active runs": {values(p.metric(t, "graphgen.run.active")), map[string]float64{"graphgen.graph=orders": 0}},
		"active tasks": {values(p.metric(t, "graphgen.task.active")), map[string]float64{
			"graphgen.graph=orders graphgen.node=pay": 0, "graphgen.graph=orders graphgen.node=ship": 0,
			"graphgen.graph=orders graphgen.node=check": 0,
		}},
	} {
		if got, want := fmt.Sprint(c.got), fmt.Sprint(c.want); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestCommitsOfEachDurability(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.OnExit} {
		p := receive(t).process(t)
		b := graph.New("orders", JobSchema)
		b.Node("check", say("checked"))
		b.Node("ship", say("shipped"))
		b.Chain(graph.Start, "check", "ship", graph.End)
		ends(t, graph.Done)(compile(t, b, p, memory.New(), d).Thread("t").Invoke(t.Context(), JobUpdate{}))
		if n := total(p.metric(t, "graphgen.superstep.commits")); n != 2 {
			t.Errorf("%v: got %d commits, want 2", d, n)
		}
	}
}

func TestGaugesOfThreads(t *testing.T) {
	p, s := receive(t).process(t), memory.New()
	g := questioner(t, p, s)
	stop, err := p.WatchThreads(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		ends(t, graph.Waiting)(g.Thread(id).Invoke(t.Context(), JobUpdate{}))
	}
	res := ends(t, graph.Waiting)(g.Thread("c").Invoke(t.Context(), JobUpdate{}))
	ends(t, graph.Done)(g.Thread("c").Resume(t.Context(), approve.Answer(res.Questions[0], true)))
	for range 3 {
		if _, err := g.Thread("c").Submit(t.Context(), JobUpdate{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Thread("new").Submit(t.Context(), JobUpdate{}); err != nil {
		t.Fatal(err)
	}
	check := func(name string, want map[string]float64) {
		t.Helper()
		if got := values(p.metric(t, name)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	check("graphgen.threads", map[string]float64{
		"graphgen.graph=orders graphgen.thread.status=waiting": 2,
		"graphgen.graph=orders graphgen.thread.status=done":    1,
		"graphgen.graph=orders graphgen.thread.status=ready":   1,
	})
	check("graphgen.inbox.messages", map[string]float64{
		"graphgen.graph=orders graphgen.message.kind=input": 4, "graphgen.graph=orders graphgen.message.kind=other": 0,
	})
	check("graphgen.threads.unread", map[string]float64{"": 0})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	p.r.mu.Lock()
	delete(p.r.metrics, "graphgen.threads")
	p.r.mu.Unlock()
	p.flush(t)
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.r.metrics["graphgen.threads"] != nil {
		t.Error("there are gauges after stop")
	}
}

func TestGaugesOfTheOldestAndOfTheMostFailedThread(t *testing.T) {
	p, s := receive(t).process(t), memory.New()
	now := time.Unix(1_800_000_000, 0)
	listed := &dated{Saver: s, now: now, threads: make(map[string]dates)}
	for _, c := range []struct {
		graph, id string
		done      bool
		dates
	}{
		{"orders", "a", false, dates{now.Add(-10 * time.Second), 2}},
		{"orders", "b", false, dates{now.Add(-90500 * time.Millisecond), 5}}, // the oldest is neither the first nor the last
		{"orders", "c", false, dates{now.Add(-30 * time.Second), 1}},
		{"orders", "d", true, dates{now.Add(-time.Hour), 3}}, // does not wait
		{"returns", "e", false, dates{now.Add(-4 * time.Second), 0}},
		{"returns", "f", true, dates{now.Add(-5 * time.Second), 9}},
		{"ahead", "g", false, dates{now.Add(time.Second), 1}}, // of a process whose clock is ahead
		{"quiet", "h", true, dates{now.Add(-6 * time.Second), 0}},
	} {
		b := graph.New(c.graph, JobSchema)
		b.Node("pay", asks, approve)
		b.Chain(graph.Start, "pay", graph.End)
		g := compile(t, b, p, s)
		res := ends(t, graph.Waiting)(g.Thread(c.id).Invoke(t.Context(), JobUpdate{}))
		if c.done {
			ends(t, graph.Done)(g.Thread(c.id).Resume(t.Context(), approve.Answer(res.Questions[0], true)))
		}
		listed.threads[c.id] = c.dates
	}
	if _, err := p.WatchThreads(listed); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]float64{
		"graphgen.thread.waiting.age": {
			"graphgen.graph=orders": 90.5, "graphgen.graph=returns": 4, "graphgen.graph=ahead": 0, "graphgen.graph=quiet": 0,
		},
		"graphgen.thread.attempts": {
			"graphgen.graph=orders": 5, "graphgen.graph=returns": 9, "graphgen.graph=ahead": 1, "graphgen.graph=quiet": 0,
		},
	} {
		if got := values(p.metric(t, name)); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// dated is a saver that lists its threads with other dates, by their ids, and has a fixed clock.
type dated struct {
	checkpoint.Saver

	now     time.Time
	threads map[string]dates
}

// dates are the values that a dated saver gives to a thread.
type dates struct {
	updated  time.Time
	attempts int
}

func (d *dated) Ready(context.Context, checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	return checkpoint.ReadyThreads{Now: d.now}, nil
}

func (d *dated) Threads(ctx context.Context, q checkpoint.ThreadQuery) iterThreads {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range d.Saver.Threads(ctx, q) {
			t.Updated, t.Attempts = d.threads[t.ID].updated, d.threads[t.ID].attempts
			if !yield(t, err) {
				return
			}
		}
	}
}

func TestThreadLimitBoundsACollection(t *testing.T) {
	p, inner := receive(t).process(t), memory.New()
	g := questioner(t, p, inner)
	for i := range 10 {
		id := fmt.Sprint("t", i)
		res := ends(t, graph.Waiting)(g.Thread(id).Invoke(t.Context(), JobUpdate{}))
		if i < 8 {
			ends(t, graph.Done)(g.Thread(id).Resume(t.Context(), approve.Answer(res.Questions[0], true)))
		}
	}
	s := &counted{Saver: inner}
	stop, err := p.WatchThreads(s, graphotel.ThreadLimit(5))
	if err != nil {
		t.Fatal(err)
	}
	got := values(p.metric(t, "graphgen.threads"))
	want := map[string]float64{
		"graphgen.graph=orders graphgen.thread.status=waiting": 2, // first, although there are more that are done
		"graphgen.graph=orders graphgen.thread.status=done":    3,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := total(p.metric(t, "graphgen.threads.unread")); n != 1 {
		t.Errorf("got unread %d, want 1", n)
	}
	if s.largest > 6 {
		t.Errorf("one collection read %d threads, want at most one more than the limit", s.largest)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, -1} {
		if _, err := p.WatchThreads(s, graphotel.ThreadLimit(n)); err == nil || !strings.Contains(err.Error(), "want at least 1") {
			t.Errorf("a limit of %d: got %v, want an error", n, err)
		}
	}
}

// counted is a saver that counts the threads that a collection reads. Ready begins a collection.
type counted struct {
	checkpoint.Saver

	now, largest int
}

func (c *counted) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	c.now = 0
	return c.Saver.Ready(ctx, q)
}

func (c *counted) Threads(ctx context.Context, q checkpoint.ThreadQuery) iterThreads {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range c.Saver.Threads(ctx, q) {
			c.now++
			c.largest = max(c.largest, c.now)
			if !yield(t, err) {
				return
			}
		}
	}
}

type iterThreads = iter.Seq2[checkpoint.Thread, error]

func TestDamagedThreadsAreCountedOnce(t *testing.T) {
	p := receive(t).process(t)
	if _, err := p.WatchThreads(damaged{memory.New()}); err != nil {
		t.Fatal(err)
	}
	got := values(p.metric(t, "graphgen.threads"))
	if fmt.Sprint(got) != fmt.Sprint(map[string]float64{"graphgen.graph= graphgen.thread.status=damaged": 1}) {
		t.Errorf("got %v, want one damaged thread", got)
	}
}

// damaged is a saver with a thread that cannot be read.
type damaged struct{ checkpoint.Saver }

func (damaged) Threads(context.Context, checkpoint.ThreadQuery) iterThreads {
	return func(yield func(checkpoint.Thread, error) bool) {
		yield(checkpoint.Thread{ID: "bad"}, fmt.Errorf("thread bad: %w", checkpoint.ErrDamaged))
	}
}

// lacking is a saver with a part that does not answer.
type lacking struct{ checkpoint.Saver }

func (s lacking) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range s.Saver.Threads(ctx, q) {
			if !yield(t, err) {
				return
			}
		}
		yield(checkpoint.Thread{}, checkpoint.ErrPartial)
	}
}

func TestThreadsAreCountedWithoutAPartOfTheStorage(t *testing.T) {
	p, s := receive(t).process(t), memory.New()
	ends(t, graph.Waiting)(questioner(t, p, s).Thread("a").Invoke(t.Context(), JobUpdate{}))
	if _, err := p.WatchThreads(lacking{s}); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"graphgen.graph=orders graphgen.thread.status=waiting": 1}
	if got := values(p.metric(t, "graphgen.threads")); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := total(p.metric(t, "graphgen.threads.unread")); got != 1 {
		t.Errorf("got unread %d, want 1", got)
	}
}

func TestACollectionFailsWithItsSaver(t *testing.T) {
	p := receive(t).process(t)
	stop, err := p.WatchThreads(broken{memory.New()})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.meters.ForceFlush(t.Context()); !errors.Is(err, checkpoint.ErrUnavailable) {
		t.Errorf("got %v, want the error of the saver", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
