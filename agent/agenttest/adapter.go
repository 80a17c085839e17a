package agenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Adapter makes models for TestAdapter.
type Adapter struct {
	// New returns a model of any name on the server at url, which is a Server of this package.
	New func(tb testing.TB, url string) agent.Model
	// Reasoning reports whether the protocol takes the reasoning of a model back.
	Reasoning bool
	// OnlyJSON reports whether the protocol has no place for the arguments of a model that are not
	// JSON.
	OnlyJSON bool
	// NoFileURL reports whether the protocol has no place for a File with a URL.
	NoFileURL bool
}

// TestAdapter tests an adapter for one of the protocols of a Server. It sends every kind of
// content, reads replies in small pieces, provokes each kind of error, and runs random
// conversations. Each request must be valid for the provider.
func TestAdapter(t *testing.T, a Adapter) {
	t.Run("Request", a.request)
	t.Run("Reply", a.reply)
	t.Run("Reasoning", a.reasoning)
	t.Run("Unsupported", a.unsupported)
	t.Run("Errors", a.errors)
	t.Run("Cancel", a.cancel)
	t.Run("Agent", a.agent)
	t.Run("PromptCache", a.promptCache)
	t.Run("Storm", func(t *testing.T) {
		storm(t, 50, a.OnlyJSON, func(m agent.Model) agent.Model { return a.New(t, NewServer(t, m).URL) })
	})
}

// on returns a model that follows a Script of steps, over the protocol.
func (a Adapter) on(t *testing.T, steps ...Step) (agent.Model, *Script) {
	t.Helper()
	script := NewScript(t, steps...)
	return a.New(t, NewServer(t, script).URL), script
}

// find is a tool of requests.
var find = []agent.ToolSpec{{Name: "find", Description: "finds", Schema: []byte(`{"type":"object"}`)}}

// said returns a message of role with parts.
func said(role agent.Role, parts ...agent.Content) agent.Message {
	return agent.Message{ID: "m", Role: role, Parts: parts}
}

// hello is a request without anything special.
var hello = agent.Request{Messages: []agent.Message{said(agent.RoleUser, &agent.Text{Text: "hi"})}}

// request sends every kind of content, and looks at what arrives.
func (a Adapter) request(t *testing.T) {
	m, script := a.on(t, Text("ok"))
	image := &agent.Image{MIME: "image/png", Data: []byte("png")}
	files := []agent.Content{&agent.File{Name: "a.pdf", MIME: "application/pdf", Data: []byte("pdf")}}
	want := []string{"file pdf", "image https://example.com/a.png", "image png", "image shot", "text look", "text one", `call c1 find {"x":1}`, "result c1", "result c2"}
	if !a.NoFileURL {
		files = append(files, &agent.File{URL: "https://example.com/b.pdf", MIME: "application/pdf"})
		want = append(want, "file https://example.com/b.pdf")
	}
	_, err := m.Generate(t.Context(), agent.Request{
		System: "Be kind.",
		Messages: []agent.Message{
			said(agent.RoleUser, append(files, &agent.Text{Text: "look"}, &agent.Text{}, image, &agent.Image{URL: "https://example.com/a.png", MIME: "image/png"})...),
			said(agent.RoleAssistant, &agent.Reasoning{Text: "of another provider", Provider: "another", Opaque: []byte("x")},
				&agent.Call{ID: "c1", Tool: "find", Args: `{"x":1}`}, &agent.Call{ID: "c2", Tool: "find", Args: `{`}),
			said(agent.RoleTool, &agent.Result{ID: "c1", Tool: "find", Parts: []agent.Content{
				&agent.Text{Text: "one"}, &agent.Image{MIME: "image/png", Data: []byte("shot")}}}),
			said(agent.RoleTool, &agent.Result{ID: "c2", Tool: "find", Failed: true}),
			said(agent.RoleAssistant, &agent.Reasoning{Text: "only thought", Provider: "another"}),
		},
		Tools: find, NoCalls: true, Output: []byte(`{"type":"object"}`),
	}, func(agent.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	q := script.Requests()[0]
	if q.System != "Be kind." || !q.NoCalls || string(q.Output) != `{"type":"object"}` ||
		len(q.Tools) != 1 || q.Tools[0].Name != "find" || q.Tools[0].Description != "finds" || string(q.Tools[0].Schema) != `{"type":"object"}` {
		t.Errorf("request: %+v", q)
	}
	got := contentOf(q.Messages)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("the request lacks %q:\n%s", line, strings.Join(got, "\n"))
		}
	}
	if !slices.Contains(got, "call c2 find {") && !slices.Contains(got, `call c2 find {"invalid":"{"}`) {
		t.Errorf("the arguments that are not JSON are lost:\n%s", strings.Join(got, "\n"))
	}
	if text := strings.Join(got, "\n"); strings.Contains(text, "only thought") || strings.Contains(text, "another") {
		t.Errorf("the request has the reasoning of another provider:\n%s", strings.Join(got, "\n"))
	}
}

// contentOf returns a line for each part of messages. The parts of a result follow it.
func contentOf(messages []agent.Message) (lines []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case *agent.Text:
				lines = append(lines, "text "+p.Text)
			case *agent.Image:
				lines = append(lines, "image "+p.URL+string(p.Data))
			case *agent.File:
				lines = append(lines, "file "+p.URL+string(p.Data))
			case *agent.Reasoning:
				lines = append(lines, "reasoning "+p.Text+" "+string(p.Opaque))
			case *agent.Call:
				lines = append(lines, "call "+p.ID+" "+p.Tool+" "+p.Args)
			case *agent.Result:
				lines = append(lines, "result "+p.ID)
				lines = append(lines, contentOf([]agent.Message{{Parts: p.Parts}})...)
			}
		}
	}
	return lines
}

// reply reads a reply of every kind of part in small pieces, and one without usage.
func (a Adapter) reply(t *testing.T) {
	args := []string{`{"x":1}`, `{"x":"a longer text, in several pieces"}`, `{"x":`}
	if a.OnlyJSON {
		args[2] = `{}`
	}
	parts := []agent.Content{&agent.Text{Text: "Olá, I look."}}
	want := []string{"text Olá, I look."}
	for i, text := range args {
		parts = append(parts, &agent.Call{ID: fmt.Sprint("c", i), Tool: "find", Args: text})
		want = append(want, fmt.Sprintf("call c%d find %s", i, text))
	}
	used := agent.Usage{Input: 100, Cached: 60, Output: 7}
	m, _ := a.on(t, func(agent.Request) (agent.Reply, error) { return agent.Reply{Parts: parts, Usage: used}, nil },
		func(agent.Request) (agent.Reply, error) {
			return agent.Reply{Parts: []agent.Content{&agent.Text{Text: "hi"}}}, nil
		})
	var text string
	var tools []string
	q := hello
	q.Tools = find
	reply, err := m.Generate(t.Context(), q, func(d agent.Delta) {
		if text += d.Text; d.Tool != "" {
			tools = append(tools, d.Tool)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := contentOf([]agent.Message{{Parts: reply.Parts}}); !slices.Equal(got, want) {
		t.Errorf("reply:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if reply.Usage != used || text != "Olá, I look." || !slices.Equal(tools, []string{"find", "find", "find"}) {
		t.Errorf("usage %+v, emitted %q and %q", reply.Usage, text, tools)
	}
	reply, err = m.Generate(t.Context(), hello, func(agent.Delta) {})
	if err != nil || agent.TextOf(reply.Parts) != "hi" || reply.Usage.Input != 0 {
		t.Errorf("without usage: %+v, %v", reply, err)
	}
}

// reasoning gives the reasoning of a reply back. A reply with nothing else is left out.
func (a Adapter) reasoning(t *testing.T) {
	if !a.Reasoning {
		t.Skip("the protocol has no place for reasoning")
	}
	think := func(agent.Request) (agent.Reply, error) {
		return agent.Reply{Parts: []agent.Content{
			&agent.Reasoning{Text: "so I think", Opaque: []byte("one")}, &agent.Call{ID: "c1", Tool: "find", Args: `{}`},
		}}, nil
	}
	m, script := a.on(t, think, Text("ok"))
	var thought string
	reply, err := m.Generate(t.Context(), hello, func(d agent.Delta) { thought += d.Reasoning })
	if err != nil || thought != "so I think" {
		t.Fatalf("emitted %q, error %v", thought, err)
	}
	only := slices.DeleteFunc(slices.Clone(reply.Parts), func(p agent.Content) bool { _, ok := p.(*agent.Call); return ok })
	_, err = m.Generate(t.Context(), agent.Request{Tools: find, Messages: []agent.Message{
		hello.Messages[0], said(agent.RoleAssistant, reply.Parts...), said(agent.RoleTool, &agent.Result{ID: "c1", Tool: "find"}),
		said(agent.RoleUser, &agent.Text{Text: "and?"}), said(agent.RoleAssistant, only...), said(agent.RoleUser, &agent.Text{Text: "go"}),
	}}, func(agent.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	back := script.Requests()[1].Messages[1].Parts
	if len(back) != 2 || string(back[0].(*agent.Reasoning).Opaque) != "one" {
		t.Errorf("what comes back:\n%s", strings.Join(contentOf(script.Requests()[1].Messages), "\n"))
	}
}

// unsupported sends content that the protocol has no place for.
func (a Adapter) unsupported(t *testing.T) {
	m, _ := a.on(t)
	messages := map[string]agent.Message{
		"a call in a result": said(agent.RoleTool, &agent.Result{ID: "c1", Parts: []agent.Content{&agent.Call{ID: "c2"}}}),
	}
	if a.NoFileURL {
		messages["a file with a URL"] = said(agent.RoleUser, &agent.File{URL: "https://example.com/a.pdf"})
	}
	for name, message := range messages {
		if _, err := m.Generate(t.Context(), agent.Request{Messages: []agent.Message{message}}, func(agent.Delta) {}); !errors.Is(err, agent.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// errors has an error of each kind. The client must send one request for each.
func (a Adapter) errors(t *testing.T) {
	parts := []agent.Content{&agent.Text{Text: "a text of several pieces"}}
	for _, tt := range []struct {
		name string
		step Step
		want error // nil for a refusal
	}{
		{"rate limit", Fail(graph.RetryAfter(agent.ErrRateLimited, 3*time.Second)), agent.ErrRateLimited},
		{"too large", Fail(agent.ErrContextTooLarge), agent.ErrContextTooLarge},
		{"unavailable", Fail(agent.ErrUnavailable), agent.ErrUnavailable},
		{"break off", Broken(ErrBreakOff, parts...), agent.ErrUnavailable},
		{"malformed", Broken(ErrMalformed, parts...), agent.ErrUnavailable},
		{"midway", Broken(ErrMidway, parts...), agent.ErrUnavailable},
		{"refusal", Fail(&agent.RefusalError{Text: "I cannot."}), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, script := a.on(t, tt.step)
			_, err := m.Generate(t.Context(), hello, func(agent.Delta) {})
			refusal := (*agent.RefusalError)(nil)
			if tt.want == nil && !errors.As(err, &refusal) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error: %v", err)
			}
			var delay interface{ RetryAfter() time.Duration }
			if errors.Is(tt.want, agent.ErrRateLimited) && (!errors.As(err, &delay) || delay.RetryAfter() != 3*time.Second) {
				t.Errorf("error without the delay: %v", err)
			}
			if n := len(script.Requests()); n != 1 {
				t.Errorf("the client has sent %d requests", n)
			}
		})
	}
}

// cancel ends the context of a call while the provider thinks.
func (a Adapter) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := NewServer(t, agent.ModelFunc(func(ctx context.Context, _ agent.Request, _ func(agent.Delta)) (agent.Reply, error) {
		cancel()
		<-ctx.Done() // the client has gone
		return agent.Reply{}, agent.ErrUnavailable
	}))
	if _, err := a.New(t, server.URL).Generate(ctx, hello, func(agent.Delta) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

// agent runs a tool, a retry after a broken reply, and an answer.
func (a Adapter) agent(t *testing.T) {
	wrong := `{"name":`
	if a.OnlyJSON {
		wrong = `{"name":7}`
	}
	m, _ := a.on(t, Parts(&agent.Call{Tool: "find", Args: `{"name":"x"}`}, &agent.Call{Tool: "find", Args: wrong}),
		Broken(ErrBreakOff, &agent.Text{Text: "a text of several pieces"}), Text("found"))
	res, err := newFinder(t, m).Thread("t").Invoke(t.Context(), agent.Say("u1", "find x"))
	if err != nil || res.State.Output != "found" || res.State.Steps != 2 || len(res.State.Messages) != 5 {
		t.Errorf("state %+v, error %v", res.State, err)
	}
}

// newFinder returns an agent with the tool find, which retries its model without a pause.
func newFinder(t *testing.T, m agent.Model) *graph.Graph[agent.Chat, agent.ChatUpdate] {
	t.Helper()
	type args struct {
		Name string `json:"name"`
	}
	app, err := agent.New(agent.Config{
		Name: "finder", Model: m, System: agent.System("Find."),
		Tools:        []agent.Tool{agent.NewTool("find", "finds", func(_ context.Context, in args) (string, error) { return in.Name, nil })},
		ModelOptions: []graph.NodeOption{graph.Retry(graph.RetryPolicy{If: agent.Temporary, Attempts: 2, Base: 1})},
	}, graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// promptCache compares the bodies of requests over several turns. Each begins with the bytes of
// the one before it, so the caches of providers stay warm.
func (a Adapter) promptCache(t *testing.T) {
	var mu sync.Mutex
	var bodies []map[string]json.RawMessage
	call := Call("find", `{"name":"x"}`)
	script := handler(t, NewScript(t, call, call, Text("one"), call, Text("two"), Text("three")))
	server := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var body map[string]json.RawMessage
		if err = errors.Join(err, json.Unmarshal(text, &body)); err != nil {
			t.Error(err)
		}
		mu.Lock()
		bodies = append(bodies, body)
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(text))
		script.ServeHTTP(w, r)
	}))
	th := newFinder(t, a.New(t, server.URL)).Thread("t")
	for _, id := range []string{"u1", "u2", "u3"} {
		if _, err := th.Invoke(t.Context(), agent.Say(id, "find x")); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < len(bodies); i++ {
		for key, before := range bodies[i-1] {
			after := bodies[i][key]
			if key == "messages" || key == "input" || key == "contents" {
				before = bytes.TrimSuffix(before, []byte("]"))
				after = after[:min(len(before), len(after))]
			}
			if !bytes.Equal(before, after) {
				t.Errorf("%s of request %d does not begin as that of the one before it:\n%s\n%s", key, i, after, before)
			}
		}
	}
	if len(bodies) != 6 {
		t.Errorf("%d requests; want 6", len(bodies))
	}
}
