package anthropic_test

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentanthropic "github.com/graphgen-go/graphgen/agent/anthropic"
)

func TestMessages(t *testing.T) {
	agenttest.TestAdapter(t, agenttest.Adapter{Reasoning: true, New: func(_ testing.TB, url string) agent.Model {
		return agentanthropic.New(anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey("none")), "stub", 1000)
	}})
}

// TestFilesInResults has an image and a file in the result of a tool.
func TestFilesInResults(t *testing.T) {
	script := agenttest.NewScript(t, agenttest.Text("ok"))
	model := agentanthropic.New(anthropic.NewClient(option.WithBaseURL(agenttest.NewServer(t, script).URL), option.WithAPIKey("none")), "stub", 1000)
	_, err := model.Generate(t.Context(), agent.Request{
		Messages: []agent.Message{
			{Role: agent.RoleUser, Parts: []agent.Content{&agent.Text{Text: "look"}}},
			{Role: agent.RoleAssistant, Parts: []agent.Content{&agent.Call{ID: "c1", Tool: "find", Args: "{}"}}},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c1", Tool: "find", Failed: true, Parts: []agent.Content{
				&agent.Text{Text: "one"}, &agent.Image{MIME: "image/png", Data: []byte("shot")}, &agent.File{MIME: "application/pdf", Data: []byte("pdf")}}}}},
		},
		Tools: []agent.ToolSpec{{Name: "find", Schema: []byte(`{"type":"object"}`)}},
	}, func(agent.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	r := script.Requests()[0].Messages[2].Parts[0].(*agent.Result)
	if len(r.Parts) != 3 || string(r.Parts[1].(*agent.Image).Data) != "shot" || string(r.Parts[2].(*agent.File).Data) != "pdf" || !r.Failed {
		t.Errorf("result: %+v", r)
	}
}
