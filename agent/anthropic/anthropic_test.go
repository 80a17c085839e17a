package anthropic_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentanthropic "github.com/graphgen-go/graphgen/agent/anthropic"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// newModel returns a model on a server that follows script.
func newModel(t *testing.T, script agent.Model) agent.Model {
	t.Helper()
	s := agenttest.NewServer(t, script)
	return agentanthropic.New(anthropic.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("none")), "stub", 1000)
}

// user is the message of a user with parts.
func user(parts ...agent.Content) agent.Message {
	return agent.Message{ID: "u", Role: agent.RoleUser, Parts: parts}
}

// TestRequest sends every kind of content, and looks at what arrives.
func TestRequest(t *testing.T) {
	script := agenttest.NewScript(t, func(agent.Request) (agent.Reply, error) {
		return agent.Reply{
			Parts: []agent.Content{&agent.Reasoning{Text: "so", Opaque: []byte("sig")}, &agent.Text{Text: "Olá, I look."}, &agent.Call{ID: "c3", Tool: "find", Args: `{"x":1}`}, &agent.Call{ID: "c4", Tool: "find", Args: `{"x":`}},
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
				&agent.Reasoning{Text: "other"}, &agent.Reasoning{Text: "hm", Provider: "anthropic", Opaque: []byte("signed")}, &agent.Call{ID: "c1", Tool: "find", Args: `{"x":1}`}, &agent.Call{ID: "c2", Tool: "find", Args: `{`}}},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c1", Tool: "find", Parts: []agent.Content{
				&agent.Text{Text: "one"}, &agent.Image{MIME: "image/png", Data: []byte("shot")}, &agent.File{MIME: "application/pdf", Data: []byte("pdf")}}}}},
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
	if len(reply.Parts) != 4 || reply.Parts[0].(*agent.Reasoning).Text != "so" || string(reply.Parts[0].(*agent.Reasoning).Opaque) != "sig" ||
		*reply.Parts[1].(*agent.Text) != (agent.Text{Text: "Olá, I look."}) ||
		*reply.Parts[2].(*agent.Call) != (agent.Call{ID: "c3", Tool: "find", Args: `{"x":1}`}) ||
		*reply.Parts[3].(*agent.Call) != (agent.Call{ID: "c4", Tool: "find", Args: `{"x":`}) {
		t.Errorf("reply: %+v", reply.Parts)
	}
	if reply.Usage != (agent.Usage{Input: 100, Cached: 60, Output: 7}) || text != "Olá, I look." || !slices.Equal(tools, []string{"find", "find"}) {
		t.Errorf("usage %+v, emitted %q and %q", reply.Usage, text, tools)
	}
	got := script.Requests()[0]
	if got.System != "Be kind." || !got.NoCalls || string(got.Output) != `{"type":"object"}` || len(got.Messages) != 4 || len(got.Messages[0].Parts) != 4 ||
		string(got.Messages[0].Parts[1].(*agent.Image).Data) != "png" || got.Messages[1].Calls()[1].Args != `{"invalid":"{"}` ||
		got.Messages[1].Parts[0].(*agent.Reasoning).Text != "hm" || string(got.Messages[1].Parts[0].(*agent.Reasoning).Opaque) != "signed" {
		t.Errorf("request: %+v", got)
	}
	if r := got.Messages[2].Parts[0].(*agent.Result); len(r.Parts) != 3 || string(r.Parts[1].(*agent.Image).Data) != "shot" || string(r.Parts[2].(*agent.File).Data) != "pdf" {
		t.Errorf("result: %+v", r)
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
	if refusal := (*agent.RefusalError)(nil); !errors.As(err, &refusal) {
		t.Errorf("error: %v", err)
	}
	nested := agent.Request{Messages: []agent.Message{{Role: agent.RoleTool, Parts: []agent.Content{
		&agent.Result{ID: "c1", Parts: []agent.Content{&agent.Call{ID: "c2"}}}}}}}
	if _, err := newModel(t, script).Generate(t.Context(), nested, func(agent.Delta) {}); !errors.Is(err, agent.ErrUnsupported) {
		t.Errorf("error: %v", err)
	}
}

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
