package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/graphgen-go/graphgen/agent"
)

// decodeAnthropic decodes and checks a request for messages.
func decodeAnthropic(r *http.Request) (agent.Request, error) {
	var q agent.Request
	var body struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		Stream    bool
		System    content
		Messages  []struct {
			Role    string
			Content content
		}
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
		}
		ToolChoice struct{ Type string } `json:"tool_choice"`
		Output     struct {
			Format struct{ Schema json.RawMessage }
		} `json:"output_config"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return q, err
	}
	if body.Model == "" || !body.Stream || body.MaxTokens <= 0 {
		return q, errors.New("a request needs a model, a stream and max_tokens")
	}
	if len(body.Messages) == 0 || body.Messages[0].Role != "user" {
		return q, errors.New("the first message must be that of a user")
	}
	system, err := body.System.parts()
	if err != nil {
		return q, err
	}
	q.System = agent.TextOf(system)
	tools := make(map[string]string) // calls and their tools
	for i, m := range body.Messages {
		if i > 0 && m.Role == body.Messages[i-1].Role {
			return q, fmt.Errorf("messages %d and %d are both of %s", i-1, i, m.Role)
		}
		var rest content
		var reply []agent.Content // calls and reasoning
		for _, b := range m.Content {
			switch b.Type {
			case "tool_use":
				if input := map[string]any(nil); json.Unmarshal(b.Input, &input) != nil {
					return q, fmt.Errorf("message %d has a call whose input is no object: %s", i, b.Input)
				}
				tools[b.ID] = b.Name
				reply = append(reply, &agent.Call{ID: b.ID, Tool: b.Name, Args: string(b.Input)})
			case "thinking":
				reply = append(reply, &agent.Reasoning{Text: b.Thinking, Opaque: []byte(b.Signature)})
			case "tool_result":
				if len(rest) > 0 {
					return q, fmt.Errorf("message %d has a result after other content", i)
				}
				parts, err := b.Content.parts()
				if err != nil {
					return q, fmt.Errorf("message %d: %w", i, err)
				}
				q.Messages = append(q.Messages, agent.Message{Role: agent.RoleTool, Parts: []agent.Content{
					&agent.Result{ID: b.ToolUseID, Tool: tools[b.ToolUseID], Parts: parts, Failed: b.IsError},
				}})
			default:
				rest = append(rest, b)
			}
		}
		parts, err := rest.parts()
		if err != nil {
			return q, fmt.Errorf("message %d: %w", i, err)
		}
		if parts = append(parts, reply...); len(parts) > 0 {
			q.Messages = append(q.Messages, agent.Message{Role: agent.Role(m.Role), Parts: parts})
		}
	}
	for _, t := range body.Tools {
		var schema struct{ Type string }
		if json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object" {
			return q, fmt.Errorf("tool %q has the schema %s", t.Name, t.InputSchema)
		}
		q.Tools = append(q.Tools, agent.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	if len(q.Tools) == 0 && (len(tools) > 0 || body.ToolChoice.Type != "") {
		return q, errors.New("calls and tool_choice need tools")
	}
	q.NoCalls = body.ToolChoice.Type == "none"
	q.Output = body.Output.Format.Schema
	return q, Valid(q)
}

// failAnthropic returns the response of Anthropic for err.
func failAnthropic(err error) (status int, body any) {
	status, kind, text := 529, "overloaded_error", err.Error()
	switch {
	case errors.Is(err, agent.ErrRateLimited):
		status, kind = http.StatusTooManyRequests, "rate_limit_error"
	case errors.Is(err, agent.ErrContextTooLarge):
		status, kind, text = http.StatusBadRequest, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"
	}
	return status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}}
}

// streamAnthropic streams a reply as events.
func streamAnthropic(e *events, r agent.Reply, err error) {
	e.midway = []any{"error", map[string]any{"type": "error", "error": map[string]any{"type": "overloaded_error", "message": "Overloaded"}}}
	send := func(name string, body map[string]any) {
		body["type"] = name
		e.send(name, body)
	}
	send("message_start", map[string]any{"message": map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": r.Usage.Input - r.Usage.Cached, "cache_read_input_tokens": r.Usage.Cached, "cache_creation_input_tokens": 0, "output_tokens": 1},
	}})
	send("ping", map[string]any{})
	stop := "end_turn"
	for i, p := range r.Parts {
		var start map[string]any
		var kind, field, text string
		switch p := p.(type) {
		case *agent.Text:
			start, kind, field, text = map[string]any{"type": "text", "text": ""}, "text_delta", "text", p.Text
		case *agent.Reasoning:
			start, kind, field, text = map[string]any{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", p.Text
		case *agent.Call:
			id := p.ID
			if id == "" {
				id = fmt.Sprintf("toolu_%d", i)
			}
			start = map[string]any{"type": "tool_use", "id": id, "name": p.Tool, "input": map[string]any{}}
			kind, field, text, stop = "input_json_delta", "partial_json", p.Args, "tool_use"
		}
		send("content_block_start", map[string]any{"index": i, "content_block": start})
		for _, piece := range pieces(text, 5) {
			send("content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": kind, field: piece}})
		}
		if p, ok := p.(*agent.Reasoning); ok {
			send("content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": "signature_delta", "signature": string(p.Opaque)}})
		}
		send("content_block_stop", map[string]any{"index": i})
	}
	if refusal := (*agent.RefusalError)(nil); errors.As(err, &refusal) {
		stop = "refusal"
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": r.Usage.Output},
	})
	send("message_stop", map[string]any{})
}
