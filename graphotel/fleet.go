package graphotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// WatchFleet adds gauges about what is due, and about the workers with the option Register. They
// are those of operate.Operator.Fleet, for the graphs with the given names, those of o and those
// that workers serve. The gauges are:
//
//   - graphgen.due.age: seconds for which the oldest due thread of a graph, or task of a queue,
//     has waited for a worker; 0 for a pause. If at least 100 are due, it can be a lower bound.
//   - graphgen.due.threads: due threads of a graph, or tasks of a queue; at most 100 are counted.
//   - graphgen.workers: workers that are alive.
//   - graphgen.worker.slots: their slots, by state: used or free.
//
// Each gauge has the attribute of the graph or of the queue. Each collection costs one call of the
// saver for each of them and for each worker, and reads at most 100 due threads of each. So one
// process of a fleet should call it. stop removes the gauges. An error of the saver is an error of
// the collection, and gives no values. An error that is checkpoint.ErrPartial goes to the error
// handler of OpenTelemetry, and the values are those of the parts of the storage that answer.
// WatchFleet returns an error if the meter refuses a gauge.
func (t *Telemetry) WatchFleet(o *operate.Operator, graphs ...string) (stop func() error, err error) {
	f := fleet{o: o, graphs: graphs}
	if s, ok := o.Saver.(interface{ attributes() []attribute.KeyValue }); ok {
		f.attrs = s.attributes()
	}
	var errs [4]error
	f.age, errs[0] = t.meter.Float64ObservableGauge("graphgen.due.age", metric.WithUnit("s"),
		metric.WithDescription("Time for which the oldest due thread or task has waited for a worker. It can be a lower bound if at least 100 are due."))
	f.due, errs[1] = t.meter.Int64ObservableGauge("graphgen.due.threads", metric.WithUnit("{thread}"),
		metric.WithDescription("Number of due threads or tasks; at most 100 are counted."))
	f.workers, errs[2] = t.meter.Int64ObservableGauge("graphgen.workers", metric.WithUnit("{worker}"),
		metric.WithDescription("Number of registered workers that are alive."))
	f.slots, errs[3] = t.meter.Int64ObservableGauge("graphgen.worker.slots", metric.WithUnit("{slot}"),
		metric.WithDescription("Number of slots of these workers, by state: used or free."))
	err = errors.Join(errs[:]...)
	var r metric.Registration
	if err == nil {
		r, err = t.meter.RegisterCallback(f.observe, f.age, f.due, f.workers, f.slots)
	}
	if err != nil {
		return nil, fmt.Errorf("graphotel: %w", err)
	}
	return r.Unregister, nil
}

// fleet has the gauges of WatchFleet.
type fleet struct {
	o      *operate.Operator
	graphs []string
	attrs  []attribute.KeyValue // of the saver

	age                 metric.Float64ObservableGauge
	due, workers, slots metric.Int64ObservableGauge
}

// observe is the callback of the meter.
func (f *fleet) observe(ctx context.Context, o metric.Observer) error {
	all, err := f.o.Fleet(ctx, 0, f.graphs...)
	if err != nil {
		err = fmt.Errorf("graphotel: read the fleet: %w", err)
		if !errors.Is(err, checkpoint.ErrPartial) {
			return err
		}
		otel.Handle(err) // an error of the collection would end the export
	}
	for _, l := range append(all.Graphs, all.Queues...) {
		of := QueueKey.String(l.Queue)
		if l.Queue == "" {
			of = GraphKey.String(l.Graphs[0])
		}
		with := func(more ...attribute.KeyValue) metric.MeasurementOption {
			return with(append(append(more, of), f.attrs...)...)
		}
		age := 0.0
		if l.Oldest != nil && !l.Paused {
			age = max(0, all.Now.Sub(*l.Oldest).Seconds())
		}
		o.ObserveFloat64(f.age, age, with())
		o.ObserveInt64(f.due, int64(l.Due), with())
		o.ObserveInt64(f.workers, int64(l.Workers), with())
		o.ObserveInt64(f.slots, int64(l.Used), with(SlotKey.String("used")))
		o.ObserveInt64(f.slots, int64(l.Slots-l.Used), with(SlotKey.String("free")))
	}
	return nil
}

// OnEvent returns a function for worker.Options.OnEvent. It measures how long threads were due
// before a worker took them (graphgen.start.latency), and then calls next, which can be nil.
func (t *Telemetry) OnEvent(next func(worker.Event)) func(worker.Event) {
	return func(e worker.Event) {
		if e.Kind == worker.EventClaimed {
			t.metrics.latency.Record(context.Background(), e.Waited.Seconds(), with(GraphKey.String(e.Graph)))
		}
		if next != nil {
			next(e)
		}
	}
}
