package agent_test

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// turnCalls is how many calls of a tool a turn of BenchmarkTurn has, one after another.
const turnCalls = 10

// caller is a model that calls the tool get_order turnCalls times, and then answers.
func caller(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Reply, error) {
	n := 0 // results since the message of the user
	for _, m := range r.Messages {
		if n++; m.Role == agent.RoleUser {
			n = 0
		}
	}
	if n < 2*turnCalls {
		return agent.Reply{Parts: []agent.Content{&agent.Call{Tool: "get_order", Args: `{"order":"7"}`}}}, nil
	}
	return agent.Reply{Parts: []agent.Content{&agent.Text{Text: "done"}}}, nil
}

// BenchmarkTurn measures a turn of ten calls of a tool, with a model and a tool that cost nothing.
// The turn has 21 supersteps, which are stored in memory. The sub-benchmark bare is the loop
// without the kit: the difference is the cost of the kit.
func BenchmarkTurn(b *testing.B) {
	var d desk
	b.Run("agent", func(b *testing.B) {
		app, err := agent.New(agent.Config{Name: "support", Model: agent.ModelFunc(caller), Tools: d.tools()},
			graph.Saver(memory.New()), graph.ReleaseOnDone())
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			res, err := app.Thread("t").Invoke(b.Context(), agent.Say("u1", "look"))
			if err != nil || res.State.Steps != turnCalls+1 {
				b.Fatalf("steps %d, error %v", res.State.Steps, err)
			}
		}
		b.ReportMetric(2*turnCalls+1, "supersteps/op")
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			messages := []agent.Message{{ID: "u1", Role: agent.RoleUser, Parts: []agent.Content{&agent.Text{Text: "look"}}}}
			for range turnCalls + 1 {
				reply, err := caller(b.Context(), agent.Request{Messages: messages}, nil)
				if err != nil {
					b.Fatal(err)
				}
				m := agent.Message{Role: agent.RoleAssistant, Parts: reply.Parts}
				messages = append(messages, m)
				for _, c := range m.Calls() {
					messages = append(messages, agent.Message{Role: agent.RoleTool, Parts: []agent.Content{&agent.Result{ID: c.ID, Tool: c.Tool}}})
				}
			}
		}
	})
}
