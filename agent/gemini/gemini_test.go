package gemini_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentgemini "github.com/graphgen-go/graphgen/agent/gemini"
	"google.golang.org/genai"
)

// newModel returns a model on the server at url.
func newModel(tb testing.TB, url string) agent.Model {
	tb.Helper()
	client, err := genai.NewClient(tb.Context(), &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return agentgemini.New(client, "stub", nil)
}

func TestGenerateContent(t *testing.T) {
	agenttest.TestAdapter(t, agenttest.Adapter{New: newModel, Reasoning: true, OnlyJSON: true})
}

// TestSignatures sends a reply back. Each signature is on its part again.
func TestSignatures(t *testing.T) {
	parts := []agent.Content{
		&agent.Reasoning{Provider: "gemini", Opaque: []byte("one")}, &agent.Text{Text: "I look."},
		&agent.Reasoning{Provider: "gemini", Opaque: []byte("two")}, &agent.Call{ID: "c1", Tool: "find", Args: "{}"},
		&agent.Reasoning{Provider: "gemini", Opaque: []byte("of no part")},
	}
	script := agenttest.NewScript(t, agenttest.Text("ok"))
	_, err := newModel(t, agenttest.NewServer(t, script).URL).Generate(t.Context(), agent.Request{
		Messages: []agent.Message{
			{Role: agent.RoleUser, Parts: []agent.Content{&agent.Text{Text: "look"}}}, {Role: agent.RoleAssistant, Parts: parts},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c1", Tool: "find"}}},
		},
		Tools: []agent.ToolSpec{{Name: "find", Schema: []byte(`{"type":"object"}`)}},
	}, func(agent.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	got := script.Requests()[0].Messages[1].Parts
	if len(got) != 4 || string(got[0].(*agent.Reasoning).Opaque) != "one" || string(got[2].(*agent.Reasoning).Opaque) != "two" {
		t.Errorf("parts: %+v", got)
	}
}
