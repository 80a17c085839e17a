// Package anthropic (experimental) makes models of the messages of Anthropic, on the official
// client.
//
//	client := anthropic.NewClient(option.WithAPIKey(key)) // github.com/anthropics/anthropic-sdk-go
//	model := agentanthropic.New(client, "claude-sonnet-4-5", 4096)
package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// provider is the Provider of Reasoning.
const provider = "anthropic"

// New returns the model of the given name, whose replies have at most maxTokens tokens. It streams
// replies, asks the provider to cache the conversation, and turns the retries of the client off,
// because the graph retries. options apply to each call.
//
// Errors wrap those of package agent, and the *anthropic.Error of the client. The status 429 has
// the delay of its Retry-After header. Reasoning of this provider is sent back, and that of others
// is left out. Arguments of a call that are no JSON object are sent back as the field invalid of
// one.
func New(client anthropic.Client, name string, maxTokens int64, options ...option.RequestOption) agent.Model {
	options = append([]option.RequestOption{option.WithMaxRetries(0)}, options...)
	return agent.ModelFunc(func(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
		p, err := params(r)
		if err != nil {
			return agent.Reply{}, err
		}
		p.Model, p.MaxTokens = name, maxTokens
		return read(client.Messages.NewStreaming(ctx, p, options...), emit)
	})
}

// params returns the request of the protocol, in which roles alternate.
func params(r agent.Request) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{CacheControl: anthropic.NewCacheControlEphemeralParam()}
	if r.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System}}
	}
	for _, m := range r.Messages {
		role := anthropic.MessageParamRoleUser
		if m.Role == agent.RoleAssistant {
			role = anthropic.MessageParamRoleAssistant
		}
		content, err := blocks(m)
		if err != nil {
			return p, err
		}
		if n := len(p.Messages); n > 0 && p.Messages[n-1].Role == role {
			p.Messages[n-1].Content = append(p.Messages[n-1].Content, content...)
		} else if len(content) > 0 {
			p.Messages = append(p.Messages, anthropic.MessageParam{Role: role, Content: content})
		}
	}
	for _, t := range r.Tools {
		tool := anthropic.ToolParam{Name: t.Name, Description: anthropic.String(t.Description)}
		if err := json.Unmarshal(t.Schema, &tool.InputSchema); err != nil {
			return p, fmt.Errorf("anthropic: the schema of tool %s is not JSON: %w; correct it", t.Name, err)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	if r.NoCalls && len(r.Tools) > 0 {
		none := anthropic.NewToolChoiceNoneParam()
		p.ToolChoice.OfNone = &none
	}
	if r.Output != nil {
		if err := json.Unmarshal(r.Output, &p.OutputConfig.Format.Schema); err != nil {
			return p, fmt.Errorf("anthropic: the schema of the output is not JSON: %w; correct it", err)
		}
	}
	return p, nil
}

// blocks returns the parts of m in the protocol.
func blocks(m agent.Message) ([]anthropic.ContentBlockParamUnion, error) {
	var all []anthropic.ContentBlockParamUnion
	for _, c := range m.Parts {
		switch c := c.(type) {
		case *agent.Text:
			if strings.TrimSpace(c.Text) != "" { // the provider refuses blank texts
				all = append(all, anthropic.NewTextBlock(c.Text))
			}
		case *agent.Image:
			if c.URL != "" {
				all = append(all, anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: c.URL}))
			} else {
				all = append(all, anthropic.NewImageBlockBase64(c.MIME, base64.StdEncoding.EncodeToString(c.Data)))
			}
		case *agent.File:
			if c.URL != "" {
				all = append(all, anthropic.NewDocumentBlock(anthropic.URLPDFSourceParam{URL: c.URL}))
			} else {
				all = append(all, anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(c.Data)}))
			}
		case *agent.Reasoning:
			switch {
			case c.Provider != provider:
			case c.Text == "":
				all = append(all, anthropic.NewRedactedThinkingBlock(string(c.Opaque)))
			default:
				all = append(all, anthropic.NewThinkingBlock(string(c.Opaque), c.Text))
			}
		case *agent.Call:
			all = append(all, anthropic.NewToolUseBlock(c.ID, input(c.Args), c.Tool))
		case *agent.Result:
			block, err := result(c)
			if err != nil {
				return nil, err
			}
			all = append(all, block)
		default:
			return nil, fmt.Errorf("anthropic: %w: a %T", agent.ErrUnsupported, c)
		}
	}
	return all, nil
}

// result returns the result of a call in the protocol.
func result(r *agent.Result) (anthropic.ContentBlockParamUnion, error) {
	block := anthropic.NewToolResultBlock(r.ID, "(no text)", r.Failed)
	parts, err := blocks(agent.Message{Parts: r.Parts})
	if err != nil || len(parts) == 0 {
		return block, err
	}
	block.OfToolResult.Content = nil
	for _, p := range parts {
		if p.OfText == nil && p.OfImage == nil && p.OfDocument == nil {
			return block, fmt.Errorf("anthropic: %w: the result of tool %s is no text, image or file", agent.ErrUnsupported, r.Tool)
		}
		block.OfToolResult.Content = append(block.OfToolResult.Content,
			anthropic.ToolResultBlockParamContentUnion{OfText: p.OfText, OfImage: p.OfImage, OfDocument: p.OfDocument})
	}
	return block, nil
}

// input returns the arguments of a call as an object.
func input(args string) any {
	if args == "" {
		return struct{}{}
	}
	if object := map[string]json.RawMessage(nil); json.Unmarshal([]byte(args), &object) == nil && object != nil {
		return json.RawMessage(args)
	}
	return map[string]string{"invalid": args}
}

// read reads a whole reply, and emits its pieces.
func read(s *ssestream.Stream[anthropic.MessageStreamEventUnion], emit func(agent.Delta)) (reply agent.Reply, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	var parts []agent.Content
	var texts []*strings.Builder // of parts
	var stop anthropic.StopReason
	ended := false
	for s.Next() {
		switch e := s.Current().AsAny().(type) {
		case anthropic.MessageStartEvent:
			u := e.Message.Usage
			reply.Usage.Input = u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
			reply.Usage.Cached, reply.Usage.Output = u.CacheReadInputTokens, u.OutputTokens
		case anthropic.ContentBlockStartEvent:
			part, err := begin(e.ContentBlock)
			if err != nil {
				return reply, err
			}
			if c, ok := part.(*agent.Call); ok {
				emit(agent.Delta{Tool: c.Tool})
			}
			parts, texts = append(parts, part), append(texts, new(strings.Builder))
		case anthropic.ContentBlockDeltaEvent:
			if e.Index < 0 || e.Index >= int64(len(parts)) {
				return reply, fmt.Errorf("anthropic: %w: block %d has not begun", agent.ErrInvalidReply, e.Index)
			}
			texts[e.Index].WriteString(e.Delta.Text + e.Delta.Thinking + e.Delta.PartialJSON)
			if r, ok := parts[e.Index].(*agent.Reasoning); ok {
				r.Opaque = append(r.Opaque, e.Delta.Signature...)
			}
			if e.Delta.Text != "" || e.Delta.Thinking != "" {
				emit(agent.Delta{Text: e.Delta.Text, Reasoning: e.Delta.Thinking})
			}
		case anthropic.MessageDeltaEvent:
			stop, reply.Usage.Output = e.Delta.StopReason, e.Usage.OutputTokens
		case anthropic.MessageStopEvent:
			ended = true
		}
	}
	switch {
	case s.Err() != nil:
		return reply, failure(s.Err())
	case stop == anthropic.StopReasonRefusal:
		return reply, &agent.RefusalError{}
	case stop == anthropic.StopReasonModelContextWindowExceeded:
		return reply, fmt.Errorf("anthropic: %w", agent.ErrContextTooLarge)
	case !ended:
		return reply, fmt.Errorf("anthropic: %w: the reply has no end", agent.ErrUnavailable)
	}
	for i, p := range parts {
		text := texts[i].String()
		switch p := p.(type) {
		case *agent.Text:
			p.Text += text
		case *agent.Reasoning:
			p.Text += text
		case *agent.Call:
			p.Args = text
		}
	}
	reply.Parts = parts
	return reply, nil
}

// begin returns the part that a block begins.
func begin(b anthropic.ContentBlockStartEventContentBlockUnion) (agent.Content, error) {
	switch b := b.AsAny().(type) {
	case anthropic.TextBlock:
		return &agent.Text{Text: b.Text}, nil
	case anthropic.ThinkingBlock:
		return &agent.Reasoning{Text: b.Thinking, Provider: provider, Opaque: []byte(b.Signature)}, nil
	case anthropic.RedactedThinkingBlock:
		return &agent.Reasoning{Provider: provider, Opaque: []byte(b.Data)}, nil
	case anthropic.ToolUseBlock:
		return &agent.Call{ID: b.ID, Tool: b.Name}, nil
	}
	return nil, fmt.Errorf("anthropic: %w: a block of type %s", agent.ErrUnsupported, b.Type)
}

// failure adds the error of package agent to an error of the client.
func failure(err error) error {
	var e *anthropic.Error
	if !errors.As(err, &e) { // of the connection, or in the middle of the stream
		return fmt.Errorf("anthropic: %w: %w", agent.ErrUnavailable, err)
	}
	switch {
	case e.StatusCode == http.StatusTooManyRequests:
		err = fmt.Errorf("anthropic: %w: %w", agent.ErrRateLimited, err)
		if s, bad := strconv.Atoi(e.Response.Header.Get("Retry-After")); bad == nil {
			return graph.RetryAfter(err, time.Duration(s)*time.Second)
		}
		return err
	case e.StatusCode == http.StatusRequestEntityTooLarge || e.StatusCode == http.StatusBadRequest && strings.Contains(e.RawJSON(), "prompt is too long"):
		return fmt.Errorf("anthropic: %w: %w", agent.ErrContextTooLarge, err)
	case e.StatusCode >= http.StatusInternalServerError || e.StatusCode == http.StatusRequestTimeout || e.StatusCode == http.StatusOK:
		return fmt.Errorf("anthropic: %w: %w", agent.ErrUnavailable, err)
	}
	return fmt.Errorf("anthropic: the provider refuses the request; correct it: %w", err)
}
