package otel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentotel "github.com/graphgen-go/graphgen/agent/otel"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// describe returns attributes as text, without times.
func describe(attrs []attribute.KeyValue) string {
	var all []string
	for _, a := range attrs {
		if !strings.HasPrefix(string(a.Key), "gen_ai.response.time") && a.Key != "gen_ai.tool.call.id" {
			all = append(all, string(a.Key)+"="+a.Value.String())
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestTelemetry has a reply with a call of a tool that asks a person, a failed reply and an
// answer.
func TestTelemetry(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	reader := sdkmetric.NewManualReader()
	tel, err := agentotel.New(
		agentotel.TracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))),
		agentotel.MeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	sure := graph.NewQuestion[wire.String, wire.Bool]("sure")
	pay := agent.NewTool("pay", "pays", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := sure.Ask(ctx, "sure?")
		return "paid", err
	}, agent.NodeOptions(sure))
	script := agenttest.NewScript(t,
		agenttest.Parts(&agent.Call{Tool: "pay", Args: "{}"}), agenttest.Fail(agent.ErrUnavailable), agenttest.Text("ok"))
	app, err := agent.New(agent.Config{
		Name: "desk", Model: tel.Model("openai", "gpt-5")(script), Tools: []agent.Tool{pay},
		ToolMiddleware: []agent.ToolMiddleware{tel.Tool},
		ModelOptions:   []graph.NodeOption{graph.Retry(graph.RetryPolicy{If: agent.Temporary, Attempts: 2, Base: 1})},
	}, graph.Saver(memory.New()), tel.Agent())
	if err != nil {
		t.Fatal(err)
	}
	th := app.Thread("chat-1")
	res, err := th.Invoke(t.Context(), agent.Say("u1", "pay"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := th.Resume(t.Context(), sure.Answer(res.Questions[0], true)); err != nil {
		t.Fatal(err)
	}

	chat := "client chat gpt-5 gen_ai.agent.name=desk gen_ai.conversation.id=chat-1 gen_ai.operation.name=chat gen_ai.provider.name=openai " +
		"gen_ai.request.model=gpt-5 gen_ai.usage.cache_read.input_tokens=0 gen_ai.usage.input_tokens=10 gen_ai.usage.output_tokens="
	tool := "internal execute_tool pay gen_ai.conversation.id=chat-1 gen_ai.operation.name=execute_tool gen_ai.tool.name=pay gen_ai.tool.type=function"
	run := "internal invoke_agent desk gen_ai.agent.name=desk gen_ai.conversation.id=chat-1 gen_ai.operation.name=invoke_agent"
	var got []string
	for _, s := range spans.GetSpans() {
		got = append(got, fmt.Sprintf("%s %s %s", s.SpanKind, s.Name, describe(s.Attributes)))
		if isRun := strings.HasPrefix(s.Name, "invoke_agent"); s.Parent.IsValid() == isRun {
			t.Errorf("span %s has a parent: %t", s.Name, !isRun)
		}
	}
	want := []string{chat + "5", tool, run, tool, strings.Replace(chat, "gpt-5 ", "gpt-5 error.type=unavailable ", 1) + "0", chat + "5", run}
	if !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Histogram[int64]:
			for _, p := range d.DataPoints {
				got = append(got, fmt.Sprintf("%s %d in %d: %s", m.Name, p.Sum, p.Count, describe(p.Attributes.ToSlice())))
			}
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				got = append(got, fmt.Sprintf("%s %d: %s", m.Name, p.Count, describe(p.Attributes.ToSlice())))
			}
		}
	}
	slices.Sort(got)
	model := "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=gpt-5"
	want = []string{
		"gen_ai.client.operation.duration 1: error.type=unavailable " + model,
		"gen_ai.client.operation.duration 2: " + model,
		"gen_ai.client.token.usage 10 in 2: " + model + " gen_ai.token.type=output",
		"gen_ai.client.token.usage 30 in 3: " + model + " gen_ai.token.type=input",
	}
	if !slices.Equal(got, want) {
		t.Errorf("metrics:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAgentTool has an agent that calls another one as a tool.
func TestAgentTool(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tel, err := agentotel.New(agentotel.TracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))))
	if err != nil {
		t.Fatal(err)
	}
	broken := agenttest.NewScript(t, agenttest.Fail(agent.ErrContextTooLarge))
	trains, err := agent.New(agent.Config{Name: "trains", Model: broken}, graph.SubgraphOnly())
	if err != nil {
		t.Fatal(err)
	}
	script := agenttest.NewScript(t, agenttest.Call("find_trains", `{"task":"to Rome"}`), agenttest.Text("none"))
	app, err := agent.New(agent.Config{Name: "lead", Model: script, Tools: []agent.Tool{agent.NewAgentTool("find_trains", "finds trains", trains)}}, tel.Agent())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Run(t.Context(), agent.Say("u1", "trains?")); err != nil {
		t.Fatal(err)
	}
	got := spans.GetSpans()
	if len(got) != 2 || got[0].Name != "invoke_agent find_trains" || got[0].Status.Description != "context_too_large" ||
		got[1].Name != "invoke_agent lead" || got[0].Parent.SpanID() != got[1].SpanContext.SpanID() || got[1].Status.Description != "" {
		t.Errorf("spans: %+v", got)
	}
}
