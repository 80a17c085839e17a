package graphotel

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The attributes of spans and metrics. Those marked "spans" have unbounded values, so metrics do
// not have them.
const (
	GraphKey     = attribute.Key("graphgen.graph")           // the name of the graph, or of the subgraph
	ThreadKey    = attribute.Key("graphgen.thread")          // spans: the id of the thread
	PathKey      = attribute.Key("graphgen.path")            // spans: the subgraph calls around the work, as in read[2]/pay
	StepKey      = attribute.Key("graphgen.step")            // spans: the number of the superstep
	NodeKey      = attribute.Key("graphgen.node")            // the id of the node
	NodeKindKey  = attribute.Key("graphgen.node.kind")       // spans: such as node, task or subgraph
	IndexKey     = attribute.Key("graphgen.send.index")      // spans: the number of the send that the task runs
	AttemptKey   = attribute.Key("graphgen.task.attempt")    // spans: from 1
	TaskKey      = attribute.Key("graphgen.task.key")        // spans: the key of the task, the same for every attempt
	FallbackKey  = attribute.Key("graphgen.task.fallback")   // spans: true for the attempt of a Fallback
	QueueKey     = attribute.Key("graphgen.queue")           // the queue whose worker runs the task
	OutcomeKey   = attribute.Key("graphgen.task.outcome")    // graph.Outcome as text
	StatusKey    = attribute.Key("graphgen.thread.status")   // checkpoint.Status as text; damaged for a thread that cannot be read
	ResumeKey    = attribute.Key("graphgen.run.resume")      // spans: true if a call resumes the thread
	WorkerKey    = attribute.Key("graphgen.run.worker")      // spans: true if a worker runs the thread
	TargetsKey   = attribute.Key("graphgen.route.targets")   // spans: the nodes that the route chose
	OperationKey = attribute.Key("graphgen.saver.operation") // the call of the saver, such as append
	RecordsKey   = attribute.Key("graphgen.saver.records")   // spans: the number of records that an append stores
	WritesKey    = attribute.Key("graphgen.saver.writes")    // spans: the number of pending writes that a call stores
	SlotKey      = attribute.Key("graphgen.slot.state")      // used or free
	MessageKey   = attribute.Key("graphgen.message.kind")    // input, or other for answers, signals and cancels

	CheckpointKey    = attribute.Key("graphgen.checkpoint")     // spans: the id of the checkpoint that was stored
	CheckpointURLKey = attribute.Key("graphgen.checkpoint.url") // spans: the address of its page; see CheckpointURL
)

// The names of errors that error.type has instead of their Go types.
var errorTypes = []struct {
	err  error
	name string
}{
	{context.DeadlineExceeded, "deadline_exceeded"},
	{context.Canceled, "canceled"},
	{checkpoint.ErrNotFound, "not_found"},
	{checkpoint.ErrClosed, "closed"},
	{checkpoint.ErrDamaged, "damaged"},
	{checkpoint.ErrUnavailable, "unavailable"},
	{graph.ErrGraphChanged, "graph_changed"},
	{graph.ErrDraining, "draining"},
	{graph.ErrGoexit, "goexit"},
}

// errorType returns the attribute error.type for err.
func errorType(err error) attribute.KeyValue {
	var panicked *graph.PanicError
	var busy *checkpoint.BusyError
	switch {
	case errors.As(err, &panicked):
		return semconv.ErrorTypeKey.String("panic")
	case errors.As(err, &busy):
		return semconv.ErrorTypeKey.String("busy")
	case errors.Is(err, checkpoint.ErrConflict):
		return semconv.ErrorTypeKey.String("conflict")
	}
	for _, known := range errorTypes {
		if errors.Is(err, known.err) {
			return semconv.ErrorTypeKey.String(known.name)
		}
	}
	var node *graph.NodeError
	var route *graph.RouteError
	switch {
	case errors.As(err, &node) && node.Err != nil:
		err = node.Err
	case errors.As(err, &route) && route.Err != nil:
		err = route.Err
	}
	var named interface{ ErrorType() string }
	if !errors.As(err, &named) {
		err = cause(err)
	}
	return semconv.ErrorType(err)
}

// cause returns the first error in err whose type is not of package fmt or errors, depth first.
// Such a type says nothing about the error. If all types are of these packages, cause returns the
// innermost error.
func cause(err error) error {
	if !generic(err) {
		return err
	}
	switch w := err.(type) { //nolint:errorlint // the type of this very error is checked
	case interface{ Unwrap() error }:
		if inner := w.Unwrap(); inner != nil {
			return cause(inner)
		}
	case interface{ Unwrap() []error }:
		for i, inner := range w.Unwrap() {
			if inner = cause(inner); i == 0 || generic(err) {
				err = inner
			}
		}
	}
	return err
}

// generic reports whether the type of err is of package fmt or errors.
func generic(err error) bool {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == "fmt" || t.PkgPath() == "errors"
}

// fail sets the status of span, and its error.type.
func fail(span trace.Span, err error) {
	if span.IsRecording() {
		span.SetStatus(codes.Error, err.Error())
		span.SetAttributes(errorType(err))
	}
}

// record is fail, and adds the event exception.
func record(span trace.Span, err error) {
	if !span.IsRecording() {
		return
	}
	fail(span, err)
	var panicked *graph.PanicError
	if errors.As(err, &panicked) {
		span.RecordError(err, trace.WithAttributes(semconv.ExceptionStacktrace(string(panicked.Stack))))
		return
	}
	span.RecordError(err)
}

// recordOwn is record, but without an event if err is that of a node or of a route. The spans
// of those have the event.
func recordOwn(span trace.Span, err error) {
	var node *graph.NodeError
	var route *graph.RouteError
	if errors.As(err, &node) || errors.As(err, &route) {
		fail(span, err)
		return
	}
	record(span, err)
}

// place returns the attributes of a place in a run.
func place(name, thread string, path []graph.PathElement, step int) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 12), GraphKey.String(name), StepKey.Int(step))
	if thread != "" {
		attrs = append(attrs, ThreadKey.String(thread))
	}
	if len(path) > 0 {
		elements := make([]string, len(path))
		for i, e := range path {
			elements[i] = e.String()
		}
		attrs = append(attrs, PathKey.String(strings.Join(elements, "/")))
	}
	return attrs
}
