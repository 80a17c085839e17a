package ticket_test

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	"github.com/graphgen-go/graphgen/agent/internal/ticket"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type order struct {
	Number string `json:"number"`
}

func TestAdd(t *testing.T) {
	m := agenttest.NewScript(t, agenttest.Call("get_order", `{"number":"7"}`), agenttest.Text("found"), agenttest.Text("checked"))
	find := agent.Config{Name: "find", Model: m, Tools: []agent.Tool{
		agent.NewTool("get_order", "looks up an order", func(_ context.Context, in order) (order, error) { return in, nil }),
	}}
	app, err := ticket.New(find, agent.Config{Name: "check", Model: m}, graph.Saver(memory.New()), graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Thread("t").Invoke(t.Context(), ticket.TicketUpdate{Messages: agent.Say("u1", "find 7").Messages})
	if err != nil {
		t.Fatal(err)
	}
	s := res.State
	if len(s.Messages) != 5 || s.Messages[3].Text() != "found" || s.Messages[3].Agent != "find" || s.Messages[4].Agent != "check" {
		t.Errorf("messages: %+v", s.Messages)
	}
	if len(s.Log) != 1 || s.Log[0] != "answered: checked" || s.Steps != 3 || s.InputTokens != 30 {
		t.Errorf("state: %+v", s)
	}
	if got := agent.TextOf(s.Messages[2].Parts[0].(*agent.Result).Parts); got != `{"number":"7"}` {
		t.Errorf("result: %s", got)
	}
}
