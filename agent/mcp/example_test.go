package mcp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/agent"
	agentmcp "github.com/graphgen-go/graphgen/agent/mcp"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// model stands for a model of a provider: see agent/openai.
var model = agent.ModelFunc(func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	if result, ok := last.Parts[0].(*agent.Result); ok {
		return agent.Reply{Parts: []agent.Content{&agent.Text{Text: "It says: " + agent.TextOf(result.Parts)}}}, nil
	}
	return agent.Reply{Parts: []agent.Content{&agent.Call{Tool: "shop_refund", Args: `{"order":"7"}`}}}, nil
})

// newDesk returns an agent with the tools of the server that transport leads to.
func newDesk(ctx context.Context, transport func() mcp.Transport) (*agentmcp.Client, *graph.Graph[agent.Chat, agent.ChatUpdate], error) {
	client := agentmcp.NewClient(agentmcp.Config{Transport: transport, Prefix: "shop_"})
	tools, err := client.Tools(ctx)
	if err != nil {
		return nil, nil, err
	}
	app, err := agent.New(agent.Config{Name: "desk", Model: model, Tools: tools}, graph.Saver(memory.New()))
	return client, app, err
}

// A tool of the server that is not annotated as read-only asks a person first.
func Example() {
	ctx := context.Background()
	client, app, err := newDesk(ctx, func() mcp.Transport {
		near, far := mcp.NewInMemoryTransports() // instead of &mcp.CommandTransport{Command: ...}
		if _, err := newShop().Connect(ctx, far, nil); err != nil {
			log.Print(err)
		}
		return near
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	thread := app.Thread("chat-1")
	res, err := thread.Invoke(ctx, agent.Say("m1", "refund order 7"))
	if err != nil {
		log.Print(err)
		return
	}
	for _, q := range res.Questions {
		a, err := agent.Approve.Decode(q)
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(a.Call.Tool, a.Call.Args)
		res, err = thread.Resume(ctx, agent.Approve.Answer(q, agent.Decision{Allow: true}))
		if err != nil {
			log.Print(err)
			return
		}
	}
	fmt.Println(res.State.Output)
	// Output:
	// shop_refund {"order":"7"}
	// It says: paid
}
