package mcp_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentmcp "github.com/graphgen-go/graphgen/agent/mcp"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Question is the argument of the tool of the server.
type Question struct {
	Text string `json:"text" jsonschema:"the question for the desk"`
}

// Answer is its result.
type Answer struct {
	Text string `json:"text"`
}

// newDeskServer returns an MCP server whose tool asks an agent.
func newDeskServer(desk *graph.Graph[agent.Chat, agent.ChatUpdate]) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "v1"}, nil)
	agentmcp.AddGraph(s, &mcp.Tool{Name: "ask_desk", Description: "asks the desk of the shop"}, desk,
		func(q Question) agent.ChatUpdate { return agent.Say("question", q.Text) },
		func(c agent.Chat) Answer { return Answer{Text: c.Output} })
	return s
}

// connect returns a session of a client of s.
func connect(ctx context.Context, s *mcp.Server) (*mcp.ClientSession, error) {
	near, far := mcp.NewInMemoryTransports()
	if _, err := s.Connect(ctx, far, nil); err != nil {
		return nil, err
	}
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1"}, nil).Connect(ctx, near, nil)
}

func ExampleAddGraph() {
	ctx := context.Background()
	desk, err := agent.New(agent.Config{Name: "desk", Model: agent.ModelFunc(
		func(context.Context, agent.Request, func(agent.Delta)) (agent.Reply, error) {
			return agent.Reply{Parts: []agent.Content{&agent.Text{Text: "Order 7 is on its way."}}}, nil
		})}, graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	client, err := connect(ctx, newDeskServer(desk))
	if err != nil {
		log.Fatal(err)
	}
	res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "ask_desk", Arguments: Question{Text: "Where is order 7?"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.StructuredContent.(map[string]any)["text"])
	// Output: Order 7 is on its way.
}

// TestServedGraph repeats a call: of a run that waits for a person, of a failed run, and of a
// finished one.
func TestServedGraph(t *testing.T) {
	pay := agent.NewTool("pay", "pays", func(context.Context, struct{}) (string, error) { return "paid", nil }, agent.NeedsApproval())
	script := agenttest.NewScript(t, agenttest.Call("pay", "{}"), agenttest.Fail(agent.ErrContextTooLarge), agenttest.Text("done"))
	desk, err := agent.New(agent.Config{Name: "desk", Model: script, Tools: []agent.Tool{pay}}, graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	client, err := connect(t.Context(), newDeskServer(desk))
	if err != nil {
		t.Fatal(err)
	}
	call := func(want string) {
		t.Helper()
		p := &mcp.CallToolParams{Name: "ask_desk", Arguments: Question{Text: "pay"}, Meta: mcp.Meta{agentmcp.KeyMeta: "k1"}}
		res, err := client.CallTool(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(got, want) {
			t.Errorf("result %q; want %q", got, want)
		}
	}
	call("its run is waiting")
	th := desk.Thread("ask_desk/k1")
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := th.Resume(t.Context(), agent.Approve.Answer(snap.Questions[0], agent.Decision{Allow: true})); err == nil {
		t.Fatal("the model has not failed")
	}
	for range 2 {
		call(`{"text":"done"}`)
	}
	if n := len(script.Requests()); n != 3 {
		t.Errorf("%d calls of the model; want 3", n)
	}
}
