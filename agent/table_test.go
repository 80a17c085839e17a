package agent_test

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// TestConversations has a row for each conversation.
func TestConversations(t *testing.T) {
	small, large := `{"order":"7","cents":500}`, `{"order":"7","cents":5000}`
	for _, tt := range []struct {
		name   string
		steps  []agenttest.Step // of the model
		calls  []string         // of tools, in the state at the end
		status graph.Status
		output string
	}{
		{"greeting", []agenttest.Step{agenttest.Text("Hello.")}, nil, graph.Done, "Hello."},
		{"small refund", []agenttest.Step{agenttest.Call("refund", small), agenttest.Text("Paid.")}, []string{"refund " + small}, graph.Done, "Paid."},
		{"large refund", []agenttest.Step{agenttest.Call("refund", large)}, []string{"refund " + large}, graph.Waiting, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			app, err := newSupport(agenttest.NewScript(t, tt.steps...))
			if err != nil {
				t.Fatal(err)
			}
			res, err := app.Thread("t").Invoke(t.Context(), agent.Say("u1", "hello"))
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, m := range res.State.Messages {
				for _, c := range m.Calls() {
					calls = append(calls, c.Tool+" "+c.Args)
				}
			}
			if !slices.Equal(calls, tt.calls) || res.Status != tt.status || res.State.Output != tt.output {
				t.Errorf("calls %q, status %v, output %q", calls, res.Status, res.State.Output)
			}
		})
	}
}
