package gemini_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentgemini "github.com/graphgen-go/graphgen/agent/gemini"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
	"google.golang.org/genai"
)

// newModel returns a model on a server that follows script.
func newModel(t *testing.T, script agent.Model) agent.Model {
	t.Helper()
	s := agenttest.NewServer(t, script)
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	return agentgemini.New(client, "stub", nil)
}

// user is the message of a user with parts.
func user(parts ...agent.Content) agent.Message {
	return agent.Message{ID: "u", Role: agent.RoleUser, Parts: parts}
}

// TestRequest sends every kind of content, and looks at what arrives.
func TestRequest(t *testing.T) {
	script := agenttest.NewScript(t, func(agent.Request) (agent.Reply, error) {
		return agent.Reply{
			Parts: []agent.Content{
				&agent.Reasoning{Text: "so", Opaque: []byte("sig")}, &agent.Text{Text: "Olá, I look."},
				&agent.Reasoning{Opaque: []byte("sig2")}, &agent.Call{ID: "c3", Tool: "find", Args: `{"x":1}`}, &agent.Call{Tool: "find", Args: `{}`}},
			Usage: agent.Usage{Input: 100, Cached: 60, Output: 7},
		}, nil
	})
	var text, thought string
	var tools []string
	image := &agent.Image{MIME: "image/png", Data: []byte("png")}
	request := agent.Request{
		System: "Be kind.",
		Messages: []agent.Message{
			user(&agent.Text{Text: "look"}, image, &agent.File{URL: "https://example.com/a.pdf", MIME: "application/pdf"}),
			{Role: agent.RoleAssistant, Parts: []agent.Content{
				&agent.Reasoning{Text: "other", Provider: "openai", Opaque: []byte("x")},
				&agent.Call{ID: "c1", Tool: "find", Args: `{"x":1}`}, &agent.Call{ID: "c2", Tool: "find", Args: `{`}}},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c1", Tool: "find", Parts: []agent.Content{&agent.Text{Text: "one"}, image}}}},
			{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: "c2", Tool: "find", Failed: true}}},
		},
		Tools:   []agent.ToolSpec{{Name: "find", Description: "finds", Schema: []byte(`{"type":"object"}`)}},
		NoCalls: true,
		Output:  []byte(`{"type":"object"}`),
	}
	m := newModel(t, script)
	reply, err := m.Generate(t.Context(), request, func(d agent.Delta) {
		if text, thought = text+d.Text, thought+d.Reasoning; d.Tool != "" {
			tools = append(tools, d.Tool)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range reply.Parts {
		switch p := p.(type) {
		case *agent.Text:
			got = append(got, p.Text)
		case *agent.Reasoning:
			got = append(got, p.Text+"/"+p.Provider+"/"+string(p.Opaque))
		case *agent.Call:
			got = append(got, p.ID+p.Tool+p.Args)
		}
	}
	if want := []string{"so/gemini/", "/gemini/sig", "Olá, I look.", "/gemini/sig2", `c3find{"x":1}`, "find{}"}; !slices.Equal(got, want) {
		t.Errorf("reply: %q; want %q", got, want)
	}
	if reply.Usage != (agent.Usage{Input: 100, Cached: 60, Output: 7}) || text != "Olá, I look." || thought != "so" || !slices.Equal(tools, []string{"find", "find"}) {
		t.Errorf("usage %+v, emitted %q, %q and %q", reply.Usage, text, thought, tools)
	}
	q := script.Requests()[0]
	if q.System != "Be kind." || !q.NoCalls || string(q.Output) != `{"type":"object"}` || len(q.Messages) != 4 || len(q.Messages[0].Parts) != 3 ||
		string(q.Messages[0].Parts[1].(*agent.Image).Data) != "png" || q.Messages[0].Parts[2].(*agent.File).URL == "" ||
		q.Messages[1].Calls()[1].Args != `{"invalid":"{"}` || string(q.Messages[1].Parts[0].(*agent.Reasoning).Opaque) != "skip_thought_signature_validator" {
		t.Errorf("request: %+v", q)
	}
	first := q.Messages[2].Parts[0].(*agent.Result)
	if first.ID != "c1" || first.Failed || string(first.Parts[1].(*agent.Image).Data) != "png" || !q.Messages[3].Parts[0].(*agent.Result).Failed {
		t.Errorf("results: %+v", q.Messages[2:])
	}
}

// TestSignatures sends a reply back. Each signature is on its part again.
func TestSignatures(t *testing.T) {
	parts := []agent.Content{
		&agent.Reasoning{Provider: "gemini", Opaque: []byte("one")}, &agent.Text{Text: "I look."},
		&agent.Reasoning{Provider: "gemini", Opaque: []byte("two")}, &agent.Call{ID: "c1", Tool: "find", Args: "{}"},
		&agent.Reasoning{Provider: "gemini", Opaque: []byte("of no part")},
	}
	script := agenttest.NewScript(t, agenttest.Text("ok"))
	_, err := newModel(t, script).Generate(t.Context(), agent.Request{
		Messages: []agent.Message{
			user(&agent.Text{Text: "look"}), {Role: agent.RoleAssistant, Parts: parts},
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
}

// TestAgent runs an agent over the protocol: a tool, a retry after a broken reply, and an answer.
func TestAgent(t *testing.T) {
	script := agenttest.NewScript(t,
		agenttest.Parts(&agent.Call{Tool: "find", Args: `{"name":"x"}`}, &agent.Call{Tool: "find", Args: `{"name":7}`}),
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
