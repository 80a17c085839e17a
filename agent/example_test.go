package agent_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type Refund struct {
	Order string `json:"order" jsonschema:"the number of the order"`
	Cents int64  `json:"cents"`
}

func refund(ctx context.Context, in Refund) (string, error) {
	key := graph.CurrentTask(ctx).Key // the same if the process dies and the call is repeated
	return fmt.Sprintf("paid %d cents for order %s", in.Cents, in.Order), pay(key, in)
}

// pay stands for a payment service that ignores a repeated key.
func pay(key string, in Refund) error { return nil }

// model stands for a model of a provider: see agent/openai.
var model = agent.ModelFunc(func(_ context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	if result, ok := last.Parts[0].(*agent.Result); ok {
		text := "I have " + agent.TextOf(result.Parts) + "."
		emit(agent.Delta{Text: text})
		return agent.Reply{Parts: []agent.Content{&agent.Text{Text: text}}}, nil
	}
	return agent.Reply{Parts: []agent.Content{&agent.Call{Tool: "refund", Args: `{"order":"7","cents":4000}`}}}, nil
})

// newSupport returns an agent that asks before it pays more than 10.00.
func newSupport(model agent.Model) (*graph.Graph[agent.Chat, agent.ChatUpdate], error) {
	return agent.New(agent.Config{
		Name:   "support",
		Model:  model,
		System: agent.System("You help customers of a shop."),
		Tools: []agent.Tool{
			agent.NewTool("refund", "pays money back", refund, agent.ApproveIf(func(in Refund) bool { return in.Cents > 1000 })),
		},
	}, graph.Saver(memory.New()))
}

func Example() {
	app, err := newSupport(model)
	if err != nil {
		log.Fatal(err)
	}
	thread := app.Thread("chat-1")
	var answers []graph.ResumeOption
	for {
		var res *graph.Result[agent.Chat]
		for e, err := range agent.Turn(context.Background(), thread, agent.Say("m1", "refund order 7"), answers...) {
			if err != nil {
				log.Fatal(err)
			}
			if d, ok := e.Custom.(agent.Delta); ok {
				fmt.Println(d.Text)
			}
			res = e.Result
		}
		if answers = nil; res.Status != graph.Waiting {
			return
		}
		for _, q := range res.Questions {
			a, err := agent.Approve.Decode(q)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(a.Call.Tool, a.Call.Args)
			answers = append(answers, agent.Approve.Answer(q, agent.Decision{Allow: true, Args: `{"order":"7","cents":500}`}))
		}
	}
	// Output:
	// refund {"order":"7","cents":4000}
	// I have A person has changed the arguments to {"order":"7","cents":500}.
	// paid 500 cents for order 7.
}

func TestRefund(t *testing.T) {
	script := agenttest.NewScript(t, agenttest.Call("refund", `{"order":"7","cents":500}`), agenttest.Text("Done."))
	app, err := newSupport(script)
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Run(t.Context(), agent.Say("m1", "refund order 7"))
	if err != nil || res.State.Output != "Done." || len(script.Requests()) != 2 {
		t.Errorf("state %+v, error %v", res.State, err)
	}
}
