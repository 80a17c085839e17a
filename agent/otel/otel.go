// Package otel (experimental) reports the calls of models and tools of agents to OpenTelemetry, by
// its semantic conventions for generative AI.
//
//	tel, err := agentotel.New()
//	app, err := agent.New(agent.Config{
//		Name:           "desk",
//		Model:          tel.Model("openai", "gpt-5")(model),
//		Tools:          tools,
//		ToolMiddleware: []agent.ToolMiddleware{tel.Tool},
//	}, tel.Agent())
//
// A run of an agent is a span "invoke_agent desk". A call of a model is a span "chat gpt-5", and
// one of a tool is a span "execute_tool refund". With the options of package graphotel, the spans
// of calls are children of the spans of their tasks. Spans have no text of conversations and no
// arguments.
//
// The metrics are gen_ai.client.token.usage and gen_ai.client.operation.duration. The conventions
// are not stable yet: names can change in any version.
package otel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0" // the newest version with these conventions
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Scope is the name of the instrumentation scope of all spans and metrics.
const Scope = "github.com/graphgen-go/graphgen/agent/otel"

// Telemetry reports calls of models and tools. New makes one. It is safe for concurrent use.
type Telemetry struct {
	tracer   trace.Tracer
	tokens   genaiconv.ClientTokenUsage
	duration genaiconv.ClientOperationDuration
}

// Option configures New.
type Option func(*config)

type config struct {
	traces  trace.TracerProvider
	metrics metric.MeterProvider
}

// TracerProvider sets the provider of tracers. The default is the global one.
func TracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.traces = p } }

// MeterProvider sets the provider of meters. The default is the global one.
func MeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.metrics = p } }

// New returns a Telemetry. A program needs one for all of its agents. The caller owns the
// providers, and shuts them down. New returns an error if the meter refuses an instrument.
func New(opts ...Option) (*Telemetry, error) {
	var c config
	for _, o := range opts {
		o(&c)
	}
	if c.traces == nil {
		c.traces = otel.GetTracerProvider()
	}
	if c.metrics == nil {
		c.metrics = otel.GetMeterProvider()
	}
	meter := c.metrics.Meter(Scope, metric.WithSchemaURL(semconv.SchemaURL))
	// The boundaries are those of the conventions.
	tokens, err := genaiconv.NewClientTokenUsage(meter, metric.WithExplicitBucketBoundaries(
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864))
	duration, err2 := genaiconv.NewClientOperationDuration(meter, metric.WithExplicitBucketBoundaries(
		0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("otel: the meter refuses an instrument; check its provider: %w", err)
	}
	return &Telemetry{c.traces.Tracer(Scope, trace.WithSchemaURL(semconv.SchemaURL)), tokens, duration}, nil
}

// Model returns a Middleware that reports the calls of a model. provider is a name of the
// conventions, such as openai, anthropic or gcp.gemini, and model is the name of the model. Wrap
// each model of a Fallback.
//
// The span has the agent, the thread as gen_ai.conversation.id, the tokens, and the time until the
// first piece of the reply.
func (t *Telemetry) Model(provider, model string) agent.Middleware {
	named := []attribute.KeyValue{semconv.GenAIProviderNameKey.String(provider), semconv.GenAIRequestModel(model)}
	return func(next agent.Model) agent.Model {
		return agent.ModelFunc(func(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
			ctx, span := t.tracer.Start(ctx, "chat "+model, trace.WithSpanKind(trace.SpanKindClient),
				trace.WithAttributes(named...), trace.WithAttributes(semconv.GenAIOperationNameChat), trace.WithAttributes(of(ctx, r.Agent)...))
			defer span.End()
			begin := time.Now()
			var first sync.Once
			reply, err := next.Generate(ctx, r, func(d agent.Delta) {
				first.Do(func() { span.SetAttributes(semconv.GenAIResponseTimeToFirstChunk(time.Since(begin).Seconds())) })
				emit(d)
			})
			u := reply.Usage
			span.SetAttributes(semconv.GenAIUsageInputTokens(int(u.Input)), semconv.GenAIUsageOutputTokens(int(u.Output)),
				semconv.GenAIUsageCacheReadInputTokens(int(u.Cached)))
			attrs := append([]attribute.KeyValue{semconv.GenAIOperationNameChat}, named...)
			for kind, n := range map[attribute.KeyValue]int64{semconv.GenAITokenTypeInput: u.Input, semconv.GenAITokenTypeOutput: u.Output} {
				if n > 0 {
					t.tokens.RecordSet(ctx, n, attribute.NewSet(append(attrs[:len(attrs):len(attrs)], kind)...))
				}
			}
			if failed := fail(span, err); failed.Valid() {
				attrs = append(attrs, failed)
			}
			t.duration.RecordSet(ctx, time.Since(begin).Seconds(), attribute.NewSet(attrs...))
			return reply, err
		})
	}
}

// Tool is an agent.ToolMiddleware that reports the calls of tools. A call that waits, for example
// for an answer, has no error, and has another span when it continues.
func (t *Telemetry) Tool(next agent.ToolFunc) agent.ToolFunc {
	return func(ctx context.Context, c agent.Call) ([]agent.Content, error) {
		ctx, span := t.tracer.Start(ctx, "execute_tool "+c.Tool, trace.WithAttributes(semconv.GenAIOperationNameExecuteTool,
			semconv.GenAIToolName(c.Tool), semconv.GenAIToolCallID(c.ID), semconv.GenAIToolType("function")),
			trace.WithAttributes(of(ctx, "")...))
		defer span.End()
		parts, err := next(ctx, c)
		if !graph.Interrupted(ctx, err) {
			fail(span, err)
		}
		return parts, err
	}
}

// Agent returns an option for the graph of an agent. Each run is a span invoke_agent, and so is
// each call of a tool of agent.NewAgentTool. A turn with questions or crashes has several runs. If
// the graph has the options of package graphotel, too, Agent must come first. The spans of runs
// are then children of those of Agent.
func (t *Telemetry) Agent() graph.Option {
	return graph.Intercept(graph.Interceptor{
		Run: func(ctx context.Context, r graph.RunInfo, next func(context.Context) (graph.Status, error)) error {
			return t.invoke(ctx, r.Graph, r.Thread, func(ctx context.Context) error { _, err := next(ctx); return err })
		},
		Task: func(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
			call := func(ctx context.Context) error { _, err := next(ctx); return err }
			if i.Kind != graph.KindTaskSubgraph || i.Fallback {
				return call(ctx)
			}
			_, name, _ := strings.Cut(string(i.Node), ".") // of the tool
			return t.invoke(ctx, name, i.Thread, call)
		},
	})
}

// invoke calls next in a span of an agent.
func (t *Telemetry) invoke(ctx context.Context, name, thread string, next func(context.Context) error) error {
	attrs := []attribute.KeyValue{semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(name)}
	if thread != "" {
		attrs = append(attrs, semconv.GenAIConversationID(thread))
	}
	ctx, span := t.tracer.Start(ctx, "invoke_agent "+name, trace.WithAttributes(attrs...))
	defer span.End()
	err := next(ctx)
	fail(span, err)
	return err
}

// of returns the attributes of an agent and of the thread of a task.
func of(ctx context.Context, name string) []attribute.KeyValue {
	var attrs []attribute.KeyValue
	if name != "" {
		attrs = append(attrs, semconv.GenAIAgentName(name))
	}
	if thread := graph.CurrentTask(ctx).Thread; thread != "" {
		attrs = append(attrs, semconv.GenAIConversationID(thread))
	}
	return attrs
}

// errorTypes are the names of errors in error.type.
var errorTypes = []struct {
	err  error
	name string
}{
	{agent.ErrRateLimited, "rate_limited"},
	{agent.ErrUnavailable, "unavailable"},
	{agent.ErrContextTooLarge, "context_too_large"},
	{agent.ErrUnsupported, "unsupported"},
	{agent.ErrInvalidReply, "invalid_reply"},
	{context.DeadlineExceeded, "deadline_exceeded"},
	{context.Canceled, "canceled"},
}

// fail sets the status of a span for err, and returns error.type; none for no error.
func fail(span trace.Span, err error) attribute.KeyValue {
	if err == nil {
		return attribute.KeyValue{}
	}
	kind := semconv.ErrorType(err)
	if refusal := (*agent.RefusalError)(nil); errors.As(err, &refusal) {
		kind = semconv.ErrorTypeKey.String("refusal")
	}
	for _, known := range errorTypes {
		if errors.Is(err, known.err) {
			kind = semconv.ErrorTypeKey.String(known.name)
			break
		}
	}
	span.SetAttributes(kind)
	span.SetStatus(codes.Error, kind.Value.AsString())
	return kind
}
