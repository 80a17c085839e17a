package agenttest_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
)

func message(role agent.Role, parts ...agent.Content) agent.Message {
	return agent.Message{Role: role, Parts: parts}
}

func TestValid(t *testing.T) {
	text, one, two := &agent.Text{Text: "hi"}, &agent.Call{ID: "1"}, &agent.Call{ID: "2"}
	first, second := &agent.Result{ID: "1"}, &agent.Result{ID: "2"}
	user, assistant, tool := agent.RoleUser, agent.RoleAssistant, agent.RoleTool
	for name, tt := range map[string]struct {
		messages []agent.Message
		valid    bool
	}{
		"results in order":      {[]agent.Message{message(user, text), message(assistant, one, two), message(tool, first), message(tool, second)}, true},
		"results in disorder":   {[]agent.Message{message(assistant, one, two), message(tool, second), message(tool, first)}, false},
		"no result":             {[]agent.Message{message(assistant, one)}, false},
		"a message in between":  {[]agent.Message{message(assistant, one), message(user, text), message(tool, first)}, false},
		"no call":               {[]agent.Message{message(tool, first)}, false},
		"repeated call":         {[]agent.Message{message(assistant, one), message(tool, first), message(assistant, one), message(tool, first)}, false},
		"call without id":       {[]agent.Message{message(assistant, &agent.Call{}), message(tool, &agent.Result{})}, false},
		"call of a user":        {[]agent.Message{message(user, one), message(tool, first)}, false},
		"message without parts": {[]agent.Message{message(user)}, false},
	} {
		if err := agenttest.Valid(agent.Request{Messages: tt.messages}); (err == nil) != tt.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
