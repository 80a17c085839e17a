package agenttest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/agent"
)

// content is the content of a message: a string, or a list of blocks.
type content []block

// document is a file of OpenAI.
type document struct {
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
	Filename string
}

// address is the URL of an image: a string in responses, and an object in chat completions.
type address string

// UnmarshalJSON decodes either form.
func (a *address) UnmarshalJSON(data []byte) error {
	var object struct{ URL string }
	if json.Unmarshal(data, (*string)(a)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &object)
	*a = address(object.URL)
	return err
}

// split returns the type and the content of a data URL, or any other URL as it is.
func split(from string) (url, mime string, data []byte, err error) {
	text, isData := strings.CutPrefix(from, "data:")
	if !isData {
		return from, "", nil, nil
	}
	mime, text, _ = strings.Cut(text, ";base64,")
	data, err = base64.StdEncoding.DecodeString(text)
	return "", mime, data, err
}

// block is a block of content, in any protocol but that of Gemini.
type block struct {
	Type     string
	Text     string
	ImageURL address  `json:"image_url"`
	File     document // of chat completions
	document          // of responses

	// The following fields are those of Anthropic.

	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   content
	IsError   bool `json:"is_error"`
	Thinking  string
	Signature string
	Source    struct {
		Type      string
		URL       string
		MediaType string `json:"media_type"`
		Data      []byte
	}
}

// UnmarshalJSON makes one text block of a string, and none of an empty one.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		if *c = nil; text != "" {
			*c = content{{Type: "text", Text: text}}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]block)(c))
}

// parts returns the texts, images and files among c.
func (c content) parts() ([]agent.Content, error) {
	var parts []agent.Content
	for _, b := range c {
		switch b.Type {
		case "text", "input_text":
			if b.Text == "" {
				return nil, errors.New("a text is empty")
			}
			parts = append(parts, &agent.Text{Text: b.Text})
		case "image_url", "input_image":
			url, mime, data, err := split(string(b.ImageURL))
			if err != nil {
				return nil, err
			}
			parts = append(parts, &agent.Image{URL: url, MIME: mime, Data: data})
		case "image":
			parts = append(parts, &agent.Image{URL: b.Source.URL, MIME: b.Source.MediaType, Data: b.Source.Data})
		case "file", "input_file":
			d := b.document
			if b.Type == "file" {
				d = b.File
			}
			url, mime, data, err := split(d.FileURL + d.FileData)
			if err != nil {
				return nil, err
			}
			parts = append(parts, &agent.File{Name: d.Filename, URL: url, MIME: mime, Data: data})
		case "document":
			parts = append(parts, &agent.File{URL: b.Source.URL, MIME: b.Source.MediaType, Data: b.Source.Data})
		default:
			return nil, fmt.Errorf("there is no content of type %q here", b.Type)
		}
	}
	return parts, nil
}

// decodeOpenAI decodes and checks a request for chat completions.
func decodeOpenAI(r *http.Request) (agent.Request, error) {
	var q agent.Request
	var body struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role       string
			Content    content
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Type     string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Type     string
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		ToolChoice     string `json:"tool_choice"`
		ResponseFormat struct {
			JSONSchema struct {
				Name   string
				Schema json.RawMessage
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return q, err
	}
	if body.Model == "" || !body.Stream || len(body.Messages) == 0 {
		return q, errors.New("a request needs a model, a stream and messages")
	}
	tools := make(map[string]string) // calls and their tools
	for i, m := range body.Messages {
		parts, err := m.Content.parts()
		if err != nil {
			return q, fmt.Errorf("message %d: %w", i, err)
		}
		if m.Role == "system" {
			q.System += agent.TextOf(parts)
			continue
		}
		for _, c := range m.ToolCalls {
			if c.Type != "function" || c.Function.Name == "" {
				return q, fmt.Errorf("message %d has a call of type %q and name %q", i, c.Type, c.Function.Name)
			}
			tools[c.ID] = c.Function.Name
			parts = append(parts, &agent.Call{ID: c.ID, Tool: c.Function.Name, Args: c.Function.Arguments})
		}
		if m.Role == "tool" {
			parts = []agent.Content{&agent.Result{ID: m.ToolCallID, Tool: tools[m.ToolCallID], Parts: parts}}
		}
		q.Messages = append(q.Messages, agent.Message{Role: agent.Role(m.Role), Parts: parts})
	}
	for _, t := range body.Tools {
		if t.Type != "function" || t.Function.Name == "" || !json.Valid(t.Function.Parameters) {
			return q, fmt.Errorf("tool %q of type %q has the schema %s", t.Function.Name, t.Type, t.Function.Parameters)
		}
		q.Tools = append(q.Tools, agent.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	if body.ToolChoice != "" && len(q.Tools) == 0 {
		return q, errors.New("tool_choice needs tools")
	}
	q.NoCalls = body.ToolChoice == "none"
	q.Output = body.ResponseFormat.JSONSchema.Schema
	return q, Valid(q)
}

// failOpenAI returns the response of OpenAI for err.
func failOpenAI(err error) (status int, body any) {
	status, code := http.StatusServiceUnavailable, "server_error"
	switch {
	case errors.Is(err, agent.ErrRateLimited):
		status, code = http.StatusTooManyRequests, "rate_limit_exceeded"
	case errors.Is(err, agent.ErrContextTooLarge):
		status, code = http.StatusBadRequest, "context_length_exceeded"
	}
	return status, map[string]any{"error": map[string]any{"message": err.Error(), "type": code, "code": code}}
}

// streamOpenAI streams a reply as chunks.
func streamOpenAI(e *events, r agent.Reply, err error) {
	e.midway = []any{"", map[string]any{"error": map[string]any{"message": "the server had an error", "type": "server_error", "code": "server_error"}}}
	chunk := func(choices []any, usage any) {
		e.send("", map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": choices, "usage": usage,
		})
	}
	delta := func(d map[string]any, finish any) {
		chunk([]any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	if refusal := (*agent.RefusalError)(nil); errors.As(err, &refusal) {
		for _, p := range pieces(refusal.Text, 3) {
			delta(map[string]any{"refusal": p}, nil)
		}
	}
	var calls [][]string // the pieces of their arguments
	for _, p := range r.Parts {
		switch p := p.(type) {
		case *agent.Text:
			for _, piece := range pieces(p.Text, 3) {
				delta(map[string]any{"content": piece}, nil)
			}
		case *agent.Call:
			id := p.ID
			if id == "" {
				id = fmt.Sprintf("call_%d", len(calls))
			}
			delta(map[string]any{"tool_calls": []any{map[string]any{
				"index": len(calls), "id": id, "type": "function", "function": map[string]any{"name": p.Tool, "arguments": ""},
			}}}, nil)
			calls = append(calls, pieces(p.Args, 5))
		}
	}
	for more := true; more; {
		more = false
		for i, args := range calls {
			if len(args) == 0 {
				continue
			}
			delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": args[0]}}}}, nil)
			calls[i], more = args[1:], true
		}
	}
	finish := "stop"
	if len(calls) > 0 {
		finish = "tool_calls"
	}
	delta(map[string]any{}, finish)
	if r.Usage != (agent.Usage{}) {
		chunk([]any{}, map[string]any{
			"prompt_tokens": r.Usage.Input, "completion_tokens": r.Usage.Output, "total_tokens": r.Usage.Input + r.Usage.Output,
			"prompt_tokens_details": map[string]any{"cached_tokens": r.Usage.Cached},
		})
	}
	if !e.stopped {
		fmt.Fprint(e.w, "data: [DONE]\n\n")
	}
}
