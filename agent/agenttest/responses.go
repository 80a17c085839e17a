package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/agent"
)

// decodeResponses decodes and checks a request for responses of OpenAI.
func decodeResponses(r *http.Request) (agent.Request, error) {
	var q agent.Request
	var body struct {
		Model        string
		Stream       bool
		Store        *bool
		Include      []string
		Instructions string
		Input        []struct {
			Type, Role string
			Content    content
			ID         string
			Summary    []struct{ Text string }
			Encrypted  string `json:"encrypted_content"`
			CallID     string `json:"call_id"`
			Name       string
			Arguments  string
			Output     content
		}
		Tools []struct {
			Type, Name, Description string
			Parameters              json.RawMessage
			Strict                  *bool
		}
		ToolChoice string `json:"tool_choice"`
		Text       struct {
			Format struct{ Schema json.RawMessage }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return q, err
	}
	if body.Model == "" || !body.Stream || len(body.Input) == 0 {
		return q, errors.New("a request needs a model, a stream and an input")
	}
	if body.Store == nil || *body.Store || !slices.Contains(body.Include, "reasoning.encrypted_content") {
		return q, errors.New("a request that brings its history needs store false, and must include reasoning.encrypted_content")
	}
	q.System = body.Instructions
	tools := make(map[string]string) // calls and their tools
	pending := ""                    // the id of a reasoning that nothing follows yet
	for i, item := range body.Input {
		var part agent.Content
		role := agent.RoleAssistant
		switch item.Type {
		case "reasoning":
			if item.ID == "" || item.Encrypted == "" || pending != "" {
				return q, fmt.Errorf("item %d is a reasoning with the id %q, after the reasoning %q", i, item.ID, pending)
			}
			pending = item.ID
			text := ""
			for _, s := range item.Summary {
				text += s.Text
			}
			part = &agent.Reasoning{Text: text, Opaque: []byte(item.Encrypted)}
		case "function_call":
			if item.Name == "" {
				return q, fmt.Errorf("item %d is a call without a name", i)
			}
			pending, tools[item.CallID] = "", item.Name
			part = &agent.Call{ID: item.CallID, Tool: item.Name, Args: item.Arguments}
		case "function_call_output":
			parts, err := item.Output.parts()
			if err != nil {
				return q, fmt.Errorf("item %d: %w", i, err)
			}
			role, part = agent.RoleTool, &agent.Result{ID: item.CallID, Tool: tools[item.CallID], Parts: parts}
		case "", "message":
			parts, err := item.Content.parts()
			if err != nil {
				return q, fmt.Errorf("item %d: %w", i, err)
			}
			if item.Role != "assistant" {
				q.Messages = append(q.Messages, agent.Message{Role: agent.Role(item.Role), Parts: parts})
				role = agent.RoleUser
				break
			}
			pending, part = "", &agent.Text{Text: agent.TextOf(parts)}
		default:
			return q, fmt.Errorf("item %d has the type %q", i, item.Type)
		}
		if pending != "" && role != agent.RoleAssistant {
			return q, fmt.Errorf("item %d follows the reasoning %s, which needs a call or a message", i, pending)
		}
		last := len(q.Messages) - 1
		switch {
		case part == nil:
		case role == agent.RoleAssistant && last >= 0 && q.Messages[last].Role == role:
			q.Messages[last].Parts = append(q.Messages[last].Parts, part)
		default:
			q.Messages = append(q.Messages, agent.Message{Role: role, Parts: []agent.Content{part}})
		}
	}
	if pending != "" {
		return q, fmt.Errorf("nothing follows the reasoning %s", pending)
	}
	for _, t := range body.Tools {
		if t.Type != "function" || t.Name == "" || !json.Valid(t.Parameters) || t.Strict == nil || *t.Strict {
			return q, fmt.Errorf("tool %q of type %q is strict, or has the schema %s", t.Name, t.Type, t.Parameters)
		}
		q.Tools = append(q.Tools, agent.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	if body.ToolChoice != "" && len(q.Tools) == 0 {
		return q, errors.New("tool_choice needs tools")
	}
	q.NoCalls = body.ToolChoice == "none"
	q.Output = body.Text.Format.Schema
	return q, Valid(q)
}

// streamResponses streams a reply as events. The pieces of calls arrive interleaved.
func streamResponses(e *events, r agent.Reply, err error) {
	e.midway = []any{"error", map[string]any{"type": "error", "code": "server_error", "message": "the server had an error", "sequence_number": 1}}
	send := func(name string, body map[string]any) {
		body["type"] = name
		e.send(name, body)
	}
	send("response.created", map[string]any{"response": map[string]any{"id": "resp_1", "status": "in_progress", "output": []any{}}})
	var items []map[string]any
	var texts [][]string // the pieces that have not been sent
	var kinds []string   // the names of the events of these pieces
	add := func(item map[string]any, kind string, pieces []string) {
		items, kinds, texts = append(items, item), append(kinds, kind), append(texts, pieces)
	}
	for i, p := range r.Parts {
		item := map[string]any{"status": "completed"}
		switch p := p.(type) {
		case *agent.Text:
			item["type"], item["id"], item["role"] = "message", fmt.Sprintf("msg_%d", i), "assistant"
			item["content"] = []any{map[string]any{"type": "output_text", "text": p.Text, "annotations": []any{}}}
			add(item, "response.output_text.delta", pieces(p.Text, 3))
		case *agent.Reasoning:
			item["type"], item["id"], item["encrypted_content"] = "reasoning", fmt.Sprintf("rs_%d", i), string(p.Opaque)
			item["summary"] = []any{map[string]any{"type": "summary_text", "text": p.Text}}
			add(item, "response.reasoning_summary_text.delta", pieces(p.Text, 3))
		case *agent.Call:
			id := p.ID
			if id == "" {
				id = fmt.Sprintf("call_%d", i)
			}
			item["type"], item["id"], item["call_id"], item["name"], item["arguments"] = "function_call", fmt.Sprintf("fc_%d", i), id, p.Tool, p.Args
			add(item, "response.function_call_arguments.delta", pieces(p.Args, 5))
		}
	}
	if refusal := (*agent.RefusalError)(nil); errors.As(err, &refusal) {
		add(map[string]any{
			"type": "message", "id": "msg_refusal", "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "refusal", "refusal": refusal.Text}},
		}, "response.refusal.delta", pieces(refusal.Text, 3))
	}
	calls := func(i int) bool { return strings.HasPrefix(kinds[i], "response.function_call") }
	piece := func(i int) {
		send(kinds[i], map[string]any{"output_index": i, "item_id": items[i]["id"], "delta": texts[i][0]})
		texts[i] = texts[i][1:]
	}
	for i, item := range items {
		send("response.output_item.added", map[string]any{"output_index": i, "item": item})
		for len(texts[i]) > 0 && !calls(i) {
			piece(i)
		}
	}
	for more := true; more; {
		more = false
		for i := range items {
			if len(texts[i]) > 0 {
				piece(i)
				more = true
			}
		}
	}
	for i, item := range slices.Backward(items) { // they can end in any order
		send("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	end := map[string]any{"id": "resp_1", "status": "completed", "output": items}
	if r.Usage != (agent.Usage{}) {
		end["usage"] = map[string]any{
			"input_tokens": r.Usage.Input, "output_tokens": r.Usage.Output, "total_tokens": r.Usage.Input + r.Usage.Output,
			"input_tokens_details": map[string]any{"cached_tokens": r.Usage.Cached},
		}
	}
	send("response.completed", map[string]any{"response": end})
}
