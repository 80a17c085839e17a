// Package agenttest (experimental) tests agents without a provider.
//
// A Script is a model that replies what a test says. A Server is an HTTP server that speaks the
// protocols of providers, and passes each request to a model such as a Script.
package agenttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
)

// Step is one reply of a Script.
type Step func(r agent.Request) (agent.Reply, error)

// usage is what each reply of a Script has used.
var usage = agent.Usage{Input: 10, Output: 5}

// Text returns a Step that replies text.
func Text(text string) Step { return Parts(&agent.Text{Text: text}) }

// Call returns a Step that calls a tool. args is JSON. The call has no ID, so the agent makes one.
func Call(tool, args string) Step { return Parts(&agent.Call{Tool: tool, Args: args}) }

// Parts returns a Step that replies parts, such as several calls. The reply has read 10 tokens and
// written 5.
func Parts(parts ...agent.Content) Step {
	return func(agent.Request) (agent.Reply, error) { return agent.Reply{Parts: parts, Usage: usage}, nil }
}

// Fail returns a Step that fails with err, after it has read 10 tokens.
func Fail(err error) Step {
	return func(agent.Request) (agent.Reply, error) {
		return agent.Reply{Usage: agent.Usage{Input: usage.Input}}, err
	}
}

// Script is a model that takes one Step for each request. It is safe for concurrent use.
type Script struct {
	tb       testing.TB
	mu       sync.Mutex
	steps    []Step
	requests []agent.Request
}

// NewScript returns a Script of steps. A request after the last step, and a request that is not
// Valid, fails tb.
func NewScript(tb testing.TB, steps ...Step) *Script {
	tb.Helper()
	return &Script{tb: tb, steps: steps}
}

// Generate takes the next step. It emits each text of the reply in two pieces.
func (s *Script) Generate(_ context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	n := len(s.requests)
	s.mu.Unlock()
	if err := Valid(r); err != nil {
		s.tb.Errorf("request %d: %v", n, err)
	}
	if n > len(s.steps) {
		s.tb.Errorf("request %d comes after the last step of the script", n)
		return agent.Reply{}, errors.New("agenttest: the script has ended; add a step")
	}
	reply, err := s.steps[n-1](r)
	for _, p := range reply.Parts {
		switch p := p.(type) {
		case *agent.Text:
			emit(agent.Delta{Text: p.Text[:len(p.Text)/2]})
			emit(agent.Delta{Text: p.Text[len(p.Text)/2:]})
		case *agent.Call:
			emit(agent.Delta{Tool: p.Tool})
		}
	}
	return reply, err
}

// Requests returns the requests so far.
func (s *Script) Requests() []agent.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[:len(s.requests):len(s.requests)]
}

// Valid returns an error if a provider would refuse r. The results of calls must follow the
// message with the calls, in the order of the calls. No call has the id of another, and no message
// is empty.
func Valid(r agent.Request) error {
	var open []string // calls without a result
	used := make(map[string]bool)
	for i, m := range r.Messages {
		if len(m.Parts) == 0 {
			return fmt.Errorf("agenttest: message %d has no parts", i)
		}
		if m.Role != agent.RoleTool && len(open) > 0 {
			return fmt.Errorf("agenttest: message %d comes before the result of call %s", i, open[0])
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case *agent.Call:
				if m.Role != agent.RoleAssistant || p.ID == "" || used[p.ID] {
					return fmt.Errorf("agenttest: message %d of %s has call %q, whose id is empty or repeated", i, m.Role, p.ID)
				}
				used[p.ID], open = true, append(open, p.ID)
			case *agent.Result:
				if m.Role != agent.RoleTool || len(open) == 0 || open[0] != p.ID {
					return fmt.Errorf("agenttest: message %d of %s has the result of call %q; the next open calls are %q", i, m.Role, p.ID, open)
				}
				open = open[1:]
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("agenttest: the calls %q have no result", open)
	}
	return nil
}
