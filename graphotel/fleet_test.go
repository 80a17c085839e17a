package graphotel_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// counting counts the calls and the rows of lists and of due threads.
type counting struct {
	*memory.Saver
	now         time.Time // if it is set, the time of the saver
	calls, rows int
}

func (c *counting) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := c.Saver.Ready(ctx, q)
	c.calls, c.rows = c.calls+1, c.rows+len(got.Threads)
	if !c.now.IsZero() {
		got.Now = c.now
	}
	return got, err
}

func (c *counting) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	c.calls++
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range c.Saver.Threads(ctx, q) {
			if c.rows++; !yield(t, err) {
				return
			}
		}
	}
}

// TestGaugesOfTheFleetReadAFewRowsOfEachGraph has three graphs: one with many due threads, a
// paused one, and one with nothing to do.
func TestGaugesOfTheFleetReadAFewRowsOfEachGraph(t *testing.T) {
	p, s := receive(t).process(t), &counting{Saver: memory.New()}
	post := func(graph string, n int) {
		for i := range n {
			posted, err := s.Post(t.Context(), checkpoint.Post{Thread: fmt.Sprint(graph, i), Graph: graph, Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}})
			if err != nil || posted[0].Err != nil {
				t.Fatal(err, posted)
			}
		}
	}
	post("orders", 2000)
	post("mails", 3)
	if err := worker.Pause(t.Context(), s, "mails"); err != nil {
		t.Fatal(err)
	}
	first, err := s.Saver.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"orders"}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.now = first.Threads[0].Wake.Add(90 * time.Second)
	stop, err := p.WatchFleet(&operate.Operator{Saver: s}, "orders", "idle")
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, want map[string]float64) {
		t.Helper()
		s.calls, s.rows = 0, 0
		if got := values(p.metric(t, name)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		// Three graphs, the lists of workers and pauses; 100, 3 and 0 due threads, and one pause.
		if s.calls != 5 || s.rows != 104 {
			t.Errorf("a collection took %d calls and %d rows; want 5 and 104 of 2,004 threads", s.calls, s.rows)
		}
	}
	orders, mails, idle := "graphgen.graph=orders", "graphgen.graph=mails", "graphgen.graph=idle"
	check("graphgen.due.age", map[string]float64{orders: 90, mails: 0, idle: 0})
	check("graphgen.due.threads", map[string]float64{orders: 100, mails: 3, idle: 0})
	check("graphgen.workers", map[string]float64{orders: 0, mails: 0, idle: 0})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// halfDown is a saver whose second storage does not answer.
type halfDown struct{ checkpoint.Saver }

func (s *halfDown) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := s.Saver.Ready(ctx, q)
	return got, errors.Join(err, fmt.Errorf("shard b: %w", checkpoint.ErrPartial))
}

// TestGaugesOfTheFleetAreThoseOfTheStorageThatAnswers: the error handler gets what is missing.
func TestGaugesOfTheFleetAreThoseOfTheStorageThatAnswers(t *testing.T) {
	p, s := receive(t).process(t), &halfDown{memory.New()}
	var handled []error
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { handled = append(handled, err) }))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	if _, err := p.WatchFleet(&operate.Operator{Saver: s}, "orders"); err != nil {
		t.Fatal(err)
	}
	if got := values(p.metric(t, "graphgen.due.threads")); len(got) != 1 || got["graphgen.graph=orders"] != 0 {
		t.Errorf("got %v, want the graph orders", got)
	}
	if len(handled) == 0 || !errors.Is(handled[0], checkpoint.ErrPartial) || !strings.Contains(handled[0].Error(), "shard b") {
		t.Errorf("the error handler got %v; want an error about shard b", handled)
	}
}

func TestAWorkerMeasuresHowLongThreadsWereDue(t *testing.T) {
	p, called := receive(t).process(t), 0
	on := p.OnEvent(func(worker.Event) { called++ })
	for _, kind := range []worker.EventKind{worker.EventClaimed, worker.EventEnded, worker.EventClaimed} {
		on(worker.Event{Kind: kind, Graph: "orders", Waited: time.Second})
	}
	if got := p.histogram(t, "graphgen.start.latency"); len(got) != 1 || got["graphgen.graph=orders"] != 2 || called != 3 {
		t.Errorf("got %v and %d calls; want two measurements and three calls", got, called)
	}
}
