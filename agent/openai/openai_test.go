package openai_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentopenai "github.com/graphgen-go/graphgen/agent/openai"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// protocol makes models of one of the protocols.
type protocol func(client openai.Client, name string, options ...option.RequestOption) agent.Model

// on returns a model on the server at url.
func (p protocol) on(_ testing.TB, url string) agent.Model {
	return p(openai.NewClient(option.WithBaseURL(url+"/v1/"), option.WithAPIKey("none")), "stub")
}

func TestChatCompletions(t *testing.T) {
	agenttest.TestAdapter(t, agenttest.Adapter{New: protocol(agentopenai.New).on, NoFileURL: true})
}

func TestResponses(t *testing.T) {
	agenttest.TestAdapter(t, agenttest.Adapter{New: protocol(agentopenai.NewResponses).on, Reasoning: true})
}

// TestImagesInResults has an image in the first of two results. It follows both.
func TestImagesInResults(t *testing.T) {
	script := agenttest.NewScript(t, agenttest.Text("ok"))
	_, err := protocol(agentopenai.New).on(t, agenttest.NewServer(t, script).URL).Generate(t.Context(), agent.Request{
		Messages: []agent.Message{
			{Role: agent.RoleUser, Parts: []agent.Content{&agent.Text{Text: "look"}}},
			{Role: agent.RoleAssistant, Parts: []agent.Content{&agent.Call{ID: "c1", Tool: "shot", Args: "{}"}, &agent.Call{ID: "c2", Tool: "shot", Args: "{}"}}},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c1", Tool: "shot", Parts: []agent.Content{&agent.Image{MIME: "image/png", Data: []byte("png")}}}}},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c2", Tool: "shot", Parts: []agent.Content{&agent.Text{Text: "none"}}}}},
		},
		Tools: []agent.ToolSpec{{Name: "shot", Schema: []byte(`{"type":"object"}`)}},
	}, func(agent.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	got := script.Requests()[0].Messages
	if last := got[len(got)-1]; len(got) != 5 || last.Role != agent.RoleUser || last.Text() != "The tool shot returned this in call c1:" ||
		string(last.Parts[1].(*agent.Image).Data) != "png" {
		t.Errorf("messages: %+v", got)
	}
}

// TestEnds has replies that end in a way that the server of agenttest does not have.
func TestEnds(t *testing.T) {
	said := `data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}` + "\n\n"
	finished := func(reason string) string {
		return said + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\ndata: [DONE]\n\n"
	}
	ended := func(kind, rest string) string {
		return "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\ndata: {\"type\":\"response." + kind + `","response":{` + rest + "}}\n\n"
	}
	refusal := &agent.RefusalError{}
	for name, tt := range map[string]struct {
		model protocol
		body  string
		want  error
	}{
		"chat, no end":            {agentopenai.New, said, agent.ErrUnavailable},
		"chat, length":            {agentopenai.New, finished("length"), nil},
		"chat, filter":            {agentopenai.New, finished("content_filter"), refusal},
		"responses, no end":       {agentopenai.NewResponses, "", agent.ErrUnavailable},
		"responses, length":       {agentopenai.NewResponses, ended("incomplete", `"incomplete_details":{"reason":"max_output_tokens"}`), nil},
		"responses, filter":       {agentopenai.NewResponses, ended("incomplete", `"incomplete_details":{"reason":"content_filter"}`), refusal},
		"responses, rate limit":   {agentopenai.NewResponses, ended("failed", `"error":{"code":"rate_limit_exceeded"}`), agent.ErrRateLimited},
		"responses, too large":    {agentopenai.NewResponses, ended("failed", `"error":{"code":"context_length_exceeded"}`), agent.ErrContextTooLarge},
		"responses, policy":       {agentopenai.NewResponses, ended("failed", `"error":{"code":"bio_policy"}`), refusal},
		"responses, error":        {agentopenai.NewResponses, ended("failed", `"error":{"code":"server_error"}`), agent.ErrUnavailable},
		"responses, unknown item": {agentopenai.NewResponses, `data: {"type":"response.output_item.done","item":{"type":"web_search_call"}}` + "\n\n" + ended("completed", ""), agent.ErrUnsupported},
	} {
		client := openai.NewClient(option.WithBaseURL("http://example.com/"), option.WithAPIKey("none"), option.WithHTTPClient(reader(tt.body)))
		_, err := tt.model(client, "stub").Generate(t.Context(), agent.Request{}, func(agent.Delta) {})
		got := (*agent.RefusalError)(nil)
		if !errors.Is(err, tt.want) && (tt.want != error(refusal) || !errors.As(err, &got)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// reader is an HTTP client whose responses have its text as their body.
type reader string

func (r reader) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body{strings.NewReader(string(r))}}, nil
}

type body struct{ *strings.Reader }

func (body) Close() error { return nil }
