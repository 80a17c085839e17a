package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// mine is the namespace of the user of a thread.
func mine(ctx context.Context) (store.Namespace, error) {
	user, err := graph.ThreadLabel(ctx, "user")
	return store.Namespace{"users", user}, err
}

// TestMemory has conversations of two users. Each recalls only what the same user has said.
func TestMemory(t *testing.T) {
	memories, err := agent.Memories(store.Scoped(memory.NewStore(), mine))
	if err != nil {
		t.Fatal(err)
	}
	saver := memory.New()
	turn := func(thread, user string, calls ...agent.Content) []string {
		t.Helper()
		m := agenttest.NewScript(t, agenttest.Parts(calls...), agenttest.Text("ok"))
		app, err := agent.New(agent.Config{Name: "desk", Model: m, Tools: agent.MemoryTools(memories)}, graph.Saver(saver), graph.Strict())
		if err != nil {
			t.Fatal(err)
		}
		res, err := app.Thread(thread).Invoke(t.Context(), agent.Say("u1", "go"), graph.Label("user", user))
		if err != nil {
			t.Fatal(err)
		}
		var results []string
		for _, m := range res.State.Messages {
			if m.Role == agent.RoleTool {
				results = append(results, agent.TextOf(m.Parts[0].(*agent.Result).Parts))
			}
		}
		return results
	}
	turn("a1", "ada", call("remember", `{"text":"Ada likes green tea."}`), call("remember", `{"text":"Ada likes green tea."}`),
		call("remember", `{"text":"Ada lives in Rome."}`))
	turn("b1", "bob", call("remember", `{"text":"Bob likes coffee."}`))
	got := turn("a2", "ada", call("recall", `{"words":"which tea"}`), call("recall", `{"words":""}`))
	if !strings.Contains(got[0], "green tea") || strings.Contains(got[0], "Rome") || strings.Count(got[1], `"id"`) != 2 || strings.Contains(got[1], "Bob") {
		t.Errorf("recalled: %q", got)
	}
	id := strings.Split(got[0], `"`)[3]
	turn("a3", "ada", call("forget", `{"id":"`+id+`"}`))
	if got := turn("a4", "ada", call("recall", `{"words":"tea"}`)); got[0] != "[]" {
		t.Errorf("recalled after forget: %q", got)
	}
}
