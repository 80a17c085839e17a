package graphotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The bounds of the buckets of histograms, in seconds. A run or a task can take milliseconds, or
// hours if it calls models or people.
var (
	callBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	workBounds = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}
)

// instruments are the metrics of runs and of calls of savers.
type instruments struct {
	runs      metric.Float64Histogram
	activeRun metric.Int64UpDownCounter
	steps     metric.Float64Histogram
	commits   metric.Int64Counter
	tasks     metric.Float64Histogram
	active    metric.Int64UpDownCounter
	retries   metric.Int64Counter
	calls     metric.Float64Histogram
	latency   metric.Float64Histogram
}

func newInstruments(m metric.Meter) (in instruments, err error) {
	var errs [9]error
	in.runs, errs[0] = m.Float64Histogram("graphgen.run.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of runs."), metric.WithExplicitBucketBoundaries(workBounds...))
	in.activeRun, errs[1] = m.Int64UpDownCounter("graphgen.run.active", metric.WithUnit("{run}"),
		metric.WithDescription("Number of runs in progress."))
	in.steps, errs[2] = m.Float64Histogram("graphgen.superstep.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of supersteps, with their commits."), metric.WithExplicitBucketBoundaries(workBounds...))
	in.commits, errs[3] = m.Int64Counter("graphgen.superstep.commits", metric.WithUnit("{commit}"),
		metric.WithDescription("Number of supersteps that were committed."))
	in.tasks, errs[4] = m.Float64Histogram("graphgen.task.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of attempts of tasks."), metric.WithExplicitBucketBoundaries(workBounds...))
	in.active, errs[5] = m.Int64UpDownCounter("graphgen.task.active", metric.WithUnit("{task}"),
		metric.WithDescription("Number of attempts of tasks in progress."))
	in.retries, errs[6] = m.Int64Counter("graphgen.task.retries", metric.WithUnit("{retry}"),
		metric.WithDescription("Number of failed attempts that another attempt or a fallback follows."))
	in.calls, errs[7] = m.Float64Histogram("graphgen.saver.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls of the saver."), metric.WithExplicitBucketBoundaries(callBounds...))
	in.latency, errs[8] = m.Float64Histogram("graphgen.start.latency", metric.WithUnit("s"),
		metric.WithDescription("Time for which threads were due before a worker took them."), metric.WithExplicitBucketBoundaries(workBounds...))
	return in, errors.Join(errs[:]...)
}

func (in *instruments) runStarts(ctx context.Context, r graph.RunInfo) {
	if in.activeRun.Enabled(ctx) {
		in.activeRun.Add(ctx, 1, with(GraphKey.String(r.Graph)))
	}
}

func (in *instruments) runEnds(ctx context.Context, r graph.RunInfo, status graph.Status, err error, took time.Duration) {
	if in.activeRun.Enabled(ctx) {
		in.activeRun.Add(ctx, -1, with(GraphKey.String(r.Graph)))
	}
	if !in.runs.Enabled(ctx) {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 3), GraphKey.String(r.Graph))
	if status != 0 {
		attrs = append(attrs, StatusKey.String(status.String()))
	}
	in.runs.Record(ctx, took.Seconds(), with(typed(attrs, err)...))
}

func (in *instruments) stepEnds(ctx context.Context, name string, err error, took time.Duration) {
	if in.steps.Enabled(ctx) {
		in.steps.Record(ctx, took.Seconds(), with(typed([]attribute.KeyValue{GraphKey.String(name)}, err)...))
	}
}

func (in *instruments) commit(ctx context.Context, name string) {
	if in.commits.Enabled(ctx) {
		in.commits.Add(ctx, 1, with(GraphKey.String(name)))
	}
}

func (in *instruments) taskStarts(ctx context.Context, i *graph.TaskInfo) {
	if in.active.Enabled(ctx) {
		in.active.Add(ctx, 1, ofNode(i))
	}
}

func (in *instruments) taskEnds(ctx context.Context, i *graph.TaskInfo, outcome graph.Outcome, err error, took time.Duration) {
	if in.active.Enabled(ctx) {
		in.active.Add(ctx, -1, ofNode(i))
	}
	if outcome == graph.OutcomeRetrying && in.retries.Enabled(ctx) {
		in.retries.Add(ctx, 1, ofNode(i))
	}
	if in.tasks.Enabled(ctx) {
		attrs := []attribute.KeyValue{GraphKey.String(i.Graph), NodeKey.String(string(i.Node)), OutcomeKey.String(outcome.String())}
		in.tasks.Record(ctx, took.Seconds(), with(typed(attrs, err)...))
	}
}

// typed returns attrs with the type of err, if there is one.
func typed(attrs []attribute.KeyValue, err error) []attribute.KeyValue {
	if err == nil {
		return attrs
	}
	return append(attrs, errorType(err))
}

func with(attrs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

func ofNode(i *graph.TaskInfo) metric.MeasurementOption {
	return with(GraphKey.String(i.Graph), NodeKey.String(string(i.Node)))
}
