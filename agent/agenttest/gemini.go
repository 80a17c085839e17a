package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/agent"
)

// geminiPart is a part of the content of a message of Gemini.
type geminiPart struct {
	Text             string
	Thought          bool
	ThoughtSignature []byte
	InlineData       *geminiData
	FileData         *geminiData
	FunctionCall     *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response map[string]any
		Parts    []geminiPart
	}
}

// geminiData is an image or a file, or where it is.
type geminiData struct {
	MIMEType string
	Data     []byte
	FileURI  string
}

// content returns d as an image or a file.
func (d geminiData) content() agent.Content {
	if strings.HasPrefix(d.MIMEType, "image/") {
		return &agent.Image{URL: d.FileURI, MIME: d.MIMEType, Data: d.Data}
	}
	return &agent.File{URL: d.FileURI, MIME: d.MIMEType, Data: d.Data}
}

// decodeGemini decodes and checks a request for generateContent.
func decodeGemini(r *http.Request) (agent.Request, error) {
	var q agent.Request
	var body struct {
		SystemInstruction struct{ Parts []geminiPart }
		Contents          []struct {
			Role  string
			Parts []geminiPart
		}
		Tools []struct {
			FunctionDeclarations []struct {
				Name, Description    string
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			}
		}
		ToolConfig       *struct{ FunctionCallingConfig struct{ Mode string } }
		GenerationConfig struct {
			ResponseMIMEType   string          `json:"responseMimeType"`
			ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return q, err
	}
	if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") || r.URL.Query().Get("alt") != "sse" {
		return q, errors.New("a request needs streamGenerateContent and alt=sse")
	}
	if len(body.Contents) == 0 || body.Contents[0].Role != "user" {
		return q, errors.New("the first message must be that of a user")
	}
	for _, p := range body.SystemInstruction.Parts {
		q.System += p.Text
	}
	for i, m := range body.Contents {
		if i > 0 && m.Role == body.Contents[i-1].Role || m.Role != "user" && m.Role != "model" {
			return q, fmt.Errorf("message %d is of %q, after one of %q", i, m.Role, body.Contents[max(i-1, 0)].Role)
		}
		messages, err := geminiMessages(m.Role, m.Parts)
		if err != nil {
			return q, fmt.Errorf("message %d: %w", i, err)
		}
		q.Messages = append(q.Messages, messages...)
	}
	for _, t := range body.Tools {
		for _, f := range t.FunctionDeclarations {
			var schema struct{ Type string }
			if json.Unmarshal(f.ParametersJSONSchema, &schema) != nil || schema.Type != "object" {
				return q, fmt.Errorf("tool %q has the schema %s", f.Name, f.ParametersJSONSchema)
			}
			q.Tools = append(q.Tools, agent.ToolSpec{Name: f.Name, Description: f.Description, Schema: f.ParametersJSONSchema})
		}
	}
	if body.ToolConfig != nil {
		q.NoCalls = body.ToolConfig.FunctionCallingConfig.Mode == "NONE"
		if len(q.Tools) == 0 {
			return q, errors.New("toolConfig needs tools")
		}
	}
	if q.Output = body.GenerationConfig.ResponseJSONSchema; q.Output != nil && body.GenerationConfig.ResponseMIMEType != "application/json" {
		return q, errors.New("responseJsonSchema needs the responseMimeType application/json")
	}
	return q, Valid(q)
}

// geminiMessages returns the messages of one content, with a signature as a Reasoning before its
// part.
func geminiMessages(role string, all []geminiPart) ([]agent.Message, error) {
	var results []agent.Message
	var parts []agent.Content
	signed := false
	for _, p := range all {
		if len(p.ThoughtSignature) > 0 {
			signed, parts = true, append(parts, &agent.Reasoning{Opaque: p.ThoughtSignature})
		}
		switch {
		case p.FunctionCall != nil:
			if p.FunctionCall.Args == nil {
				p.FunctionCall.Args = json.RawMessage("{}")
			}
			if args := map[string]any(nil); json.Unmarshal(p.FunctionCall.Args, &args) != nil || p.FunctionCall.Name == "" || !signed {
				return nil, fmt.Errorf("the call of %q has the arguments %s, and a signature: %t", p.FunctionCall.Name, p.FunctionCall.Args, signed)
			}
			parts = append(parts, &agent.Call{ID: p.FunctionCall.ID, Tool: p.FunctionCall.Name, Args: string(p.FunctionCall.Args)})
		case p.FunctionResponse != nil:
			f := p.FunctionResponse
			if f.Name == "" || f.Response == nil || len(parts) > 0 {
				return nil, fmt.Errorf("the response of %q is empty, has no name, or follows other parts", f.Name)
			}
			r := &agent.Result{ID: f.ID, Tool: f.Name}
			for key, value := range f.Response {
				r.Failed = key == "error"
				r.Parts = append(r.Parts, &agent.Text{Text: fmt.Sprint(value)})
			}
			for _, p := range f.Parts {
				r.Parts = append(r.Parts, p.data())
			}
			results = append(results, agent.Message{Role: agent.RoleTool, Parts: []agent.Content{r}})
		case p.data() != nil:
			parts = append(parts, p.data())
		case p.Text != "":
			parts = append(parts, &agent.Text{Text: p.Text})
		case len(p.ThoughtSignature) == 0:
			return nil, errors.New("a part is empty")
		}
	}
	if len(parts) > 0 {
		kind := agent.RoleUser
		if role == "model" {
			kind = agent.RoleAssistant
		}
		results = append(results, agent.Message{Role: kind, Parts: parts})
	}
	return results, nil
}

// data returns the image or file of p; nil for none.
func (p geminiPart) data() agent.Content {
	switch {
	case p.InlineData != nil:
		return p.InlineData.content()
	case p.FileData != nil:
		return p.FileData.content()
	}
	return nil
}

// failGemini returns the response of Gemini for err.
func failGemini(err error) (status int, body any) {
	status, kind, text := http.StatusServiceUnavailable, "UNAVAILABLE", err.Error()
	var details []any
	switch {
	case errors.Is(err, agent.ErrRateLimited):
		status, kind = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
		var delay interface{ RetryAfter() time.Duration }
		if errors.As(err, &delay) {
			details = append(details, map[string]any{
				"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", delay.RetryAfter().Seconds()),
			})
		}
	case errors.Is(err, agent.ErrContextTooLarge):
		status, kind = http.StatusBadRequest, "INVALID_ARGUMENT"
		text = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
	}
	return status, map[string]any{"error": map[string]any{"code": status, "message": text, "status": kind, "details": details}}
}

// streamGemini streams a reply as responses. Calls are whole, as those of the provider are.
func streamGemini(e *events, r agent.Reply, err error) {
	e.midway = []any{"", map[string]any{"error": map[string]any{"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}}
	var signature []byte // for the next part
	part := func(p map[string]any) {
		if signature != nil {
			p["thoughtSignature"] = signature
			signature = nil
		}
		e.send("", map[string]any{"candidates": []any{map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": []any{p}}}}})
	}
	finish := "STOP"
	if refusal := (*agent.RefusalError)(nil); errors.As(err, &refusal) {
		finish = "SAFETY"
	}
	for _, p := range r.Parts {
		switch p := p.(type) {
		case *agent.Text:
			for _, piece := range pieces(p.Text, 3) {
				part(map[string]any{"text": piece})
			}
		case *agent.Reasoning:
			for _, piece := range pieces(p.Text, 3) {
				part(map[string]any{"text": piece, "thought": true})
			}
			signature = p.Opaque
		case *agent.Call:
			if !json.Valid([]byte(p.Args)) {
				finish = "MALFORMED_FUNCTION_CALL"
				continue
			}
			call := map[string]any{"name": p.Tool, "args": json.RawMessage(p.Args)}
			if p.ID != "" {
				call["id"] = p.ID
			}
			part(map[string]any{"functionCall": call})
		}
	}
	if signature != nil {
		part(map[string]any{"text": ""})
	}
	end := map[string]any{"candidates": []any{map[string]any{"index": 0, "finishReason": finish}}}
	if r.Usage != (agent.Usage{}) {
		end["usageMetadata"] = map[string]any{
			"promptTokenCount": r.Usage.Input, "cachedContentTokenCount": r.Usage.Cached, "candidatesTokenCount": r.Usage.Output - r.Usage.Output/3,
			"thoughtsTokenCount": r.Usage.Output / 3,
		}
	}
	e.send("", end)
}
