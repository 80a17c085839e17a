package openai_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentopenai "github.com/graphgen-go/graphgen/agent/openai"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// newModel returns a model on a server that follows script.
func newModel(t *testing.T, script agent.Model) agent.Model {
	t.Helper()
	s := agenttest.NewServer(t, script)
	return agentopenai.New(openai.NewClient(option.WithBaseURL(s.URL+"/v1/"), option.WithAPIKey("none")), "stub")
}

// user is the message of a user with parts.
func user(parts ...agent.Content) agent.Message {
	return agent.Message{ID: "u", Role: agent.RoleUser, Parts: parts}
}

// TestRequest sends every kind of content, and looks at what arrives.
func TestRequest(t *testing.T) {
	script := agenttest.NewScript(t, func(agent.Request) (agent.Reply, error) {
		return agent.Reply{
			Parts: []agent.Content{&agent.Text{Text: "Olá, I look."}, &agent.Call{ID: "c3", Tool: "find", Args: `{"x":1}`}, &agent.Call{ID: "c4", Tool: "find", Args: `{"x":`}},
			Usage: agent.Usage{Input: 100, Cached: 60, Output: 7},
		}, nil
	})
	var text string
	var tools []string
	reply, err := newModel(t, script).Generate(t.Context(), agent.Request{
		System: "Be kind.",
		Messages: []agent.Message{
			user(&agent.Text{Text: "look"}, &agent.Image{MIME: "image/png", Data: []byte("png")}, &agent.Image{URL: "https://example.com/a.png"}, &agent.File{Name: "a.pdf", MIME: "application/pdf", Data: []byte("pdf")}),
			{Role: agent.RoleAssistant, Parts: []agent.Content{
				&agent.Reasoning{Text: "hm"}, &agent.Call{ID: "c1", Tool: "find", Args: `{"x":1}`}, &agent.Call{ID: "c2", Tool: "find", Args: `{`}}},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c1", Tool: "find", Parts: []agent.Content{&agent.Text{Text: "one"}}}}},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c2", Tool: "find"}}},
			{Role: agent.RoleAssistant, Parts: []agent.Content{&agent.Reasoning{Text: "only thought"}}},
		},
		Tools:   []agent.ToolSpec{{Name: "find", Description: "finds", Schema: []byte(`{"type":"object"}`)}},
		NoCalls: true,
		Output:  []byte(`{"type":"object"}`),
	}, func(d agent.Delta) {
		if text += d.Text; d.Tool != "" {
			tools = append(tools, d.Tool)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Parts) != 3 || *reply.Parts[0].(*agent.Text) != (agent.Text{Text: "Olá, I look."}) ||
		*reply.Parts[1].(*agent.Call) != (agent.Call{ID: "c3", Tool: "find", Args: `{"x":1}`}) ||
		*reply.Parts[2].(*agent.Call) != (agent.Call{ID: "c4", Tool: "find", Args: `{"x":`}) {
		t.Errorf("reply: %+v", reply.Parts)
	}
	if reply.Usage != (agent.Usage{Input: 100, Cached: 60, Output: 7}) || text != "Olá, I look." || !slices.Equal(tools, []string{"find", "find"}) {
		t.Errorf("usage %+v, emitted %q and %q", reply.Usage, text, tools)
	}
	got := script.Requests()[0]
	if got.System != "Be kind." || !got.NoCalls || string(got.Output) != `{"type":"object"}` || len(got.Messages) != 4 || len(got.Messages[0].Parts) != 4 ||
		got.Messages[0].Parts[1].(*agent.Image).URL != "data:image/png;base64,cG5n" || got.Messages[1].Calls()[1].Args != `{` {
		t.Errorf("request: %+v", got)
	}
}

// TestImagesInResults has an image in the first of two results. It follows both.
func TestImagesInResults(t *testing.T) {
	script := agenttest.NewScript(t, agenttest.Text("ok"))
	_, err := newModel(t, script).Generate(t.Context(), agent.Request{
		Messages: []agent.Message{
			user(&agent.Text{Text: "look"}),
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
		last.Parts[1].(*agent.Image).URL != "data:image/png;base64,cG5n" {
		t.Errorf("messages: %+v", got)
	}
}

// TestErrors has an error of each kind.
func TestErrors(t *testing.T) {
	parts := []agent.Content{&agent.Text{Text: "a text of several pieces"}}
	for _, tt := range []struct {
		name string
		step agenttest.Step
		want error
	}{
		{"rate limit", agenttest.Fail(graph.RetryAfter(agent.ErrRateLimited, 3*time.Second)), agent.ErrRateLimited},
		{"too large", agenttest.Fail(agent.ErrContextTooLarge), agent.ErrContextTooLarge},
		{"unavailable", agenttest.Fail(agent.ErrUnavailable), agent.ErrUnavailable},
		{"break off", agenttest.Broken(agenttest.ErrBreakOff, parts...), agent.ErrUnavailable},
		{"malformed", agenttest.Broken(agenttest.ErrMalformed, parts...), agent.ErrUnavailable},
		{"midway", agenttest.Broken(agenttest.ErrMidway, parts...), agent.ErrUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := agenttest.NewScript(t, tt.step)
			_, err := newModel(t, script).Generate(t.Context(), agent.Request{Messages: []agent.Message{user(&agent.Text{Text: "hi"})}}, func(agent.Delta) {})
			if !errors.Is(err, tt.want) {
				t.Errorf("error: %v", err)
			}
			var delay interface{ RetryAfter() time.Duration }
			if tt.want == agent.ErrRateLimited && (!errors.As(err, &delay) || delay.RetryAfter() != 3*time.Second) {
				t.Errorf("error without the delay: %v", err)
			}
			if n := len(script.Requests()); n != 1 {
				t.Errorf("the client has sent %d requests", n)
			}
		})
	}
	script := agenttest.NewScript(t, agenttest.Fail(&agent.RefusalError{Text: "I cannot."}))
	_, err := newModel(t, script).Generate(t.Context(), agent.Request{Messages: []agent.Message{user(&agent.Text{Text: "hi"})}}, func(agent.Delta) {})
	if refusal := (*agent.RefusalError)(nil); !errors.As(err, &refusal) || refusal.Text != "I cannot." {
		t.Errorf("error: %v", err)
	}
	file := agent.Request{Messages: []agent.Message{user(&agent.File{URL: "https://example.com/a.pdf"})}}
	if _, err := newModel(t, script).Generate(t.Context(), file, func(agent.Delta) {}); !errors.Is(err, agent.ErrUnsupported) {
		t.Errorf("error: %v", err)
	}
}

// TestWithoutUsage has a server that sends no usage, and one whose reply has no end.
func TestWithoutUsage(t *testing.T) {
	for end, want := range map[string]error{
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n": nil,
		"": agent.ErrUnavailable,
	} {
		client := openai.NewClient(option.WithBaseURL("http://example.com/"), option.WithAPIKey("none"), option.WithHTTPClient(reader(
			`data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}`+"\n\n"+end)))
		reply, err := agentopenai.New(client, "stub").Generate(t.Context(), agent.Request{}, func(agent.Delta) {})
		if !errors.Is(err, want) || err == nil && agent.TextOf(reply.Parts) != "hi" {
			t.Errorf("reply %+v, error %v", reply, err)
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

// TestAgent runs an agent over the protocol: a tool, a retry after a broken reply, and an answer.
func TestAgent(t *testing.T) {
	script := agenttest.NewScript(t,
		agenttest.Parts(&agent.Call{Tool: "find", Args: `{"name":"x"}`}, &agent.Call{Tool: "find", Args: `{"name":`}),
		agenttest.Broken(agenttest.ErrBreakOff, &agent.Text{Text: "a text of several pieces"}),
		agenttest.Text("found"))
	type args struct {
		Name string `json:"name"`
	}
	app, err := agent.New(agent.Config{
		Name: "finder", Model: newModel(t, script),
		Tools:        []agent.Tool{agent.NewTool("find", "finds", func(_ context.Context, in args) (string, error) { return in.Name, nil })},
		ModelOptions: []graph.NodeOption{graph.Retry(graph.RetryPolicy{If: agent.Temporary, Attempts: 2, Base: 1})},
	}, graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Thread("t").Invoke(t.Context(), agent.Say("u1", "find x"))
	if err != nil || res.State.Output != "found" || res.State.Steps != 2 || len(res.State.Messages) != 5 {
		t.Errorf("state %+v, error %v", res.State, err)
	}
}
