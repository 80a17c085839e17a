package graphotel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// DefaultThreadLimit is the number of threads that a collection of WatchThreads reads at most.
const DefaultThreadLimit = 10_000

// WatchOption configures WatchThreads.
type WatchOption func(*watch)

// ThreadLimit sets the number of threads that one collection reads at most. The default is
// DefaultThreadLimit.
func ThreadLimit(n int) WatchOption { return func(w *watch) { w.limit = n } }

// WatchThreads adds gauges about the threads in saver. Each collection of the meter's reader lists
// threads, with the context of the collection. So one process of a fleet should call it, with a
// reader whose interval fits the number of threads. The gauges are:
//
//   - graphgen.threads: threads with an open version or an untaken input, by graph and status; a
//     thread that cannot be read has the status damaged;
//   - graphgen.thread.waiting.age: seconds since the update of the Waiting thread that has waited
//     for longest, by graph; on the saver's clock;
//   - graphgen.thread.attempts: the highest number of failed attempts of a thread, by graph;
//   - graphgen.inbox.messages: untaken messages, by graph and kind;
//   - graphgen.threads.unread: 1 if the limit left threads out, or a shard did not answer, else 0.
//
// If saver is one of Telemetry.Saver, the gauges have its attributes.
//
// Statuses are read one after the other, those of unfinished threads first. Within a status, the
// limit leaves out the threads with the last ids. A thread whose status changes meanwhile can be
// missing, or count twice.
//
// stop removes the gauges. An error of the saver is an error of the collection, and gives no
// values. WatchThreads returns an error for a limit below 1, and if the meter refuses a gauge.
func (t *Telemetry) WatchThreads(saver checkpoint.Saver, opts ...WatchOption) (stop func() error, err error) {
	w := &watch{saver: saver, limit: DefaultThreadLimit}
	if s, ok := saver.(interface{ attributes() []attribute.KeyValue }); ok {
		w.attrs = s.attributes()
	}
	for _, o := range opts {
		o(w)
	}
	if w.limit < 1 {
		return nil, fmt.Errorf("graphotel: a ThreadLimit of %d; want at least 1", w.limit)
	}
	if err := w.add(t.meter); err != nil {
		return nil, fmt.Errorf("graphotel: %w", err)
	}
	r, err := t.meter.RegisterCallback(w.observe, w.threads, w.unread, w.age, w.attempts, w.inbox)
	if err != nil {
		return nil, fmt.Errorf("graphotel: %w", err)
	}
	return r.Unregister, nil
}

// watch has the gauges about the threads of a saver.
type watch struct {
	saver checkpoint.Saver
	attrs []attribute.KeyValue // of the saver
	limit int

	threads, unread, attempts, inbox metric.Int64ObservableGauge
	age                              metric.Float64ObservableGauge
}

func (w *watch) add(m metric.Meter) error {
	var errs [5]error
	w.threads, errs[0] = m.Int64ObservableGauge("graphgen.threads", metric.WithUnit("{thread}"),
		metric.WithDescription("Number of threads with an open version or an untaken input."))
	w.unread, errs[1] = m.Int64ObservableGauge("graphgen.threads.unread",
		metric.WithDescription("Whether the limit of a collection left threads out: 1 or 0."))
	w.attempts, errs[2] = m.Int64ObservableGauge("graphgen.thread.attempts", metric.WithUnit("{attempt}"),
		metric.WithDescription("Highest number of failed attempts of a thread."))
	w.inbox, errs[3] = m.Int64ObservableGauge("graphgen.inbox.messages", metric.WithUnit("{message}"),
		metric.WithDescription("Number of untaken messages."))
	w.age, errs[4] = m.Float64ObservableGauge("graphgen.thread.waiting.age", metric.WithUnit("s"),
		metric.WithDescription("Time for which the oldest waiting thread has waited."))
	return errors.Join(errs[:]...)
}

// unfinishedFirst are all statuses, in the order in which they are read.
var unfinishedFirst = [...]checkpoint.Status{
	checkpoint.Waiting, checkpoint.Failed, checkpoint.Ready, checkpoint.Running, checkpoint.Paused, checkpoint.Cancelled, checkpoint.Done,
}

// census is the outcome of a collection.
type census struct {
	threads  map[group]int64
	graphs   map[string]*tally
	damaged  map[string]bool
	rest     int // the number of threads that may still be read
	moreLeft bool
}

type group struct{ graph, status string }

// tally has the values of a graph.
type tally struct {
	waiting        time.Time // since when, zero for no thread
	attempts       int
	inputs, others int
}

// observe is the callback of the meter.
func (w *watch) observe(ctx context.Context, o metric.Observer) error {
	clock, err := w.saver.Ready(ctx, checkpoint.ReadyQuery{Limit: 1}) // of no graph: only the time
	if err != nil {
		return fmt.Errorf("graphotel: read the clock of the saver: %w", err)
	}
	c := census{threads: make(map[group]int64), graphs: make(map[string]*tally), damaged: make(map[string]bool), rest: w.limit}
	partial := false
	for _, status := range unfinishedFirst {
		err := w.count(ctx, status, &c)
		if partial = partial || errors.Is(err, checkpoint.ErrPartial); err != nil && !errors.Is(err, checkpoint.ErrPartial) {
			return fmt.Errorf("graphotel: list threads: %w", err)
		}
	}
	c.moreLeft = c.moreLeft || partial
	w.report(o, &c, clock.Now)
	return nil
}

// count reads the threads of a status. It asks for one more than it may count.
func (w *watch) count(ctx context.Context, status checkpoint.Status, c *census) error {
	if c.moreLeft {
		return nil
	}
	for t, err := range w.saver.Threads(ctx, checkpoint.ThreadQuery{Status: status, Limit: c.rest + 1}) {
		if err != nil {
			if !errors.Is(err, checkpoint.ErrDamaged) {
				return err
			}
			if c.damaged[t.ID] { // each status yields it
				continue
			}
		}
		if c.rest == 0 {
			c.moreLeft = true
			return nil
		}
		c.rest--
		if err != nil {
			c.damaged[t.ID] = true
			c.threads[group{"", "damaged"}]++
			continue
		}
		c.add(&t)
	}
	return nil
}

// add counts a thread.
func (c *census) add(t *checkpoint.Thread) {
	c.threads[group{t.Graph, t.Status.String()}]++
	n := c.graphs[t.Graph]
	if n == nil {
		n = new(tally)
		c.graphs[t.Graph] = n
	}
	n.attempts = max(n.attempts, t.FailedAttempts())
	n.inputs += t.Inputs
	n.others += t.Others
	if t.Status == checkpoint.Waiting && (n.waiting.IsZero() || t.Updated.Before(n.waiting)) {
		n.waiting = t.Updated
	}
}

// report gives the values of c to the meter.
func (w *watch) report(o metric.Observer, c *census, now time.Time) {
	with := func(attrs ...attribute.KeyValue) metric.MeasurementOption { return with(append(attrs, w.attrs...)...) }
	for g, n := range maps.All(c.threads) {
		o.ObserveInt64(w.threads, n, with(GraphKey.String(g.graph), StatusKey.String(g.status)))
	}
	for name, n := range maps.All(c.graphs) {
		of := GraphKey.String(name)
		age := 0.0
		if !n.waiting.IsZero() {
			age = max(0, now.Sub(n.waiting).Seconds())
		}
		o.ObserveFloat64(w.age, age, with(of))
		o.ObserveInt64(w.attempts, int64(n.attempts), with(of))
		o.ObserveInt64(w.inbox, int64(n.inputs), with(of, MessageKey.String("input")))
		o.ObserveInt64(w.inbox, int64(n.others), with(of, MessageKey.String("other")))
	}
	unread := int64(0)
	if c.moreLeft {
		unread = 1
	}
	o.ObserveInt64(w.unread, unread, with())
}
