package recipes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	"github.com/graphgen-go/graphgen/agent/internal/recipes"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestReader reads a large result in pieces. The conversation never has the whole text.
func TestReader(t *testing.T) {
	whole := strings.Repeat("äß", 5000) // 20,000 bytes
	tool := agent.NewTool("fetch", "fetches", func(context.Context, struct{}) ([]agent.Content, error) {
		return []agent.Content{&agent.Text{Text: whole}, &agent.Image{URL: "https://example.com/a.png"}}, nil
	})
	steps := []agenttest.Step{agenttest.Call("fetch", "{}")}
	var read strings.Builder
	next := func(r agent.Request) (agent.Reply, error) {
		last := agent.TextOf(r.Messages[len(r.Messages)-1].Parts[0].(*agent.Result).Parts)
		text, note, _ := strings.Cut(last, "\n[")
		read.WriteString(text)
		_, at, more := strings.Cut(note, "; read_result has the rest: handle ")
		if !more {
			return agenttest.Text("done")(r)
		}
		handle, offset, _ := strings.Cut(strings.TrimSuffix(at, "]"), ", offset ")
		return agenttest.Call("read_result", fmt.Sprintf(`{"handle":%q,"offset":%s}`, handle, offset))(r)
	}
	steps = append(steps, next, next, next, agenttest.Call("read_result", `{"handle":"none","offset":0}`), agenttest.Text("no"))
	app, err := recipes.NewReader(agent.Config{Name: "reader", Model: agenttest.NewScript(t, steps...), Tools: []agent.Tool{tool}},
		memory.NewStore(), graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Thread("t").Invoke(t.Context(), agent.Say("u1", "go"))
	if err != nil || res.State.Output != "done" || read.String() != whole {
		t.Fatalf("output %q, read %d bytes, error %v", res.State.Output, read.Len(), err)
	}
	first := res.State.Messages[2].Parts[0].(*agent.Result).Parts
	if len(first) != 2 || len(first[0].(*agent.Text).Text) > 8400 || first[1].(*agent.Image).URL == "" {
		t.Errorf("the result in the conversation has %d parts", len(first))
	}
	res, err = app.Thread("t").Invoke(t.Context(), agent.Say("u2", "again"))
	if err != nil {
		t.Fatal(err)
	}
	all := res.State.Messages
	if r := all[len(all)-2].Parts[0].(*agent.Result); !r.Failed || !strings.Contains(agent.TextOf(r.Parts), "there is no result with the handle none") {
		t.Errorf("a wrong handle: %q", agent.TextOf(r.Parts))
	}
}

// TestBounded has two users in several conversations. Each has a budget of its own.
func TestBounded(t *testing.T) {
	backend, saver := memory.NewStore(), memory.New()
	turn := func(user, thread string, want string) {
		t.Helper()
		script := agenttest.NewScript(t, agenttest.Text("hi"))
		app, err := recipes.NewBounded(agent.Config{Name: "desk", Model: agent.Priced(script, agent.Price{Input: 100_000})}, backend, 2, graph.Saver(saver))
		if err != nil {
			t.Fatal(err)
		}
		res, err := app.Thread(thread).Invoke(t.Context(), agent.Say("u1", "go"), graph.Label("user", user))
		if err != nil || res.State.Output != want {
			t.Errorf("%s in %s: %q, %v; want %q", user, thread, res.State.Output, err, want)
		}
	}
	turn("ada", "a1", "hi") // a call costs 1
	turn("ada", "a2", "hi")
	turn("ada", "a3", "You have spent 2.00 of 2.00.")
	turn("bob", "b1", "hi")
}
