// Package openai (experimental) makes models of OpenAI, and of all servers that speak one of its
// protocols, on the official client.
//
//	client := openai.NewClient(option.WithAPIKey(key))  // github.com/openai/openai-go/v3
//	model := agentopenai.NewResponses(client, "gpt-5")  // this package
//
// New uses chat completions, which most other servers speak. Another server needs
// option.WithBaseURL, such as http://localhost:11434/v1/.
package openai

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

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// New returns the model of the given name, on chat completions. It streams replies, and turns the
// retries of the client off, because the graph retries. options apply to each call.
//
// Errors wrap those of package agent, and the *openai.Error of the client. The status 429 has the
// delay of its Retry-After header. Images and files in the results of tools follow them as a
// message of a user, because a result can only have text. A file with a URL returns
// agent.ErrUnsupported. Reasoning is left out of requests, because this protocol has no place for
// it.
func New(client openai.Client, name string, options ...option.RequestOption) agent.Model {
	options = append([]option.RequestOption{option.WithMaxRetries(0)}, options...)
	return agent.ModelFunc(func(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
		p, err := params(name, r)
		if err != nil {
			return agent.Reply{}, err
		}
		return read(client.Chat.Completions.NewStreaming(ctx, p, options...), emit)
	})
}

// params returns the request of the protocol.
func params(name string, r agent.Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{
		Model:         name,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if r.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	var shown []agent.Content // images and files of results: a result can only have text
	for i, m := range r.Messages {
		converted, err := message(m)
		if err != nil {
			return p, err
		}
		p.Messages = append(p.Messages, converted...)
		if m.Role != agent.RoleTool {
			continue
		}
		if c, ok := m.Parts[0].(*agent.Result); ok {
			shown = append(shown, attachments(c)...)
		}
		if next := i + 1; len(shown) > 0 && (next == len(r.Messages) || r.Messages[next].Role != agent.RoleTool) {
			converted, err := message(agent.Message{Role: agent.RoleUser, Parts: shown})
			if err != nil {
				return p, err
			}
			p.Messages, shown = append(p.Messages, converted...), nil
		}
	}
	for _, t := range r.Tools {
		var schema shared.FunctionParameters
		if err := json.Unmarshal(t.Schema, &schema); err != nil {
			return p, fmt.Errorf("openai: the schema of tool %s is not JSON: %w; correct it", t.Name, err)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: openai.String(t.Description), Parameters: schema,
		}))
	}
	if r.NoCalls && len(r.Tools) > 0 {
		p.ToolChoice.OfAuto = openai.String("none")
	}
	if r.Output != nil {
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "output", Schema: r.Output},
		}
	}
	return p, nil
}

// message returns m as messages of the protocol: none if nothing of m can be sent.
func message(m agent.Message) ([]openai.ChatCompletionMessageParamUnion, error) {
	var parts []openai.ChatCompletionContentPartUnionParam
	var reply openai.ChatCompletionAssistantMessageParam
	for _, c := range m.Parts {
		switch c := c.(type) {
		case *agent.Text:
			if c.Text != "" {
				parts = append(parts, openai.TextContentPart(c.Text))
			}
		case *agent.Image:
			parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: link(c.URL, c.MIME, c.Data)}))
		case *agent.File:
			if c.URL != "" {
				return nil, fmt.Errorf("openai: %w: a file with a URL", agent.ErrUnsupported)
			}
			parts = append(parts, openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
				Filename: openai.String(c.Name), FileData: openai.String(link("", c.MIME, c.Data)),
			}))
		case *agent.Reasoning: // it stays behind
		case *agent.Call:
			reply.ToolCalls = append(reply.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Tool, Arguments: c.Args},
				},
			})
		case *agent.Result:
			for _, part := range c.Parts {
				switch part.(type) {
				case *agent.Text, *agent.Image, *agent.File:
				default:
					return nil, fmt.Errorf("openai: %w: a %T in the result of tool %s", agent.ErrUnsupported, part, c.Tool)
				}
			}
			text := agent.TextOf(c.Parts)
			if text == "" {
				text = "(no text)" // some servers refuse an empty result
			}
			return []openai.ChatCompletionMessageParamUnion{openai.ToolMessage(text, c.ID)}, nil
		default:
			return nil, fmt.Errorf("openai: %w: a %T", agent.ErrUnsupported, c)
		}
	}
	switch {
	case m.Role != agent.RoleAssistant && len(parts) > 0:
		return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(parts)}, nil
	case m.Role == agent.RoleAssistant && (m.Text() != "" || len(reply.ToolCalls) > 0):
		if text := m.Text(); text != "" {
			reply.Content.OfString = openai.String(text)
		}
		return []openai.ChatCompletionMessageParamUnion{{OfAssistant: &reply}}, nil
	}
	return nil, nil
}

// attachments returns the images and files of a result, after a text that says whose they are;
// none if it has only text.
func attachments(r *agent.Result) []agent.Content {
	parts := []agent.Content{&agent.Text{Text: fmt.Sprintf("The tool %s returned this in call %s:", r.Tool, r.ID)}}
	for _, c := range r.Parts {
		if _, ok := c.(*agent.Text); !ok {
			parts = append(parts, c)
		}
	}
	if len(parts) == 1 {
		return nil
	}
	return parts
}

// link returns url, or data as a URL.
func link(url, mime string, data []byte) string {
	if url != "" {
		return url
	}
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// read reads a whole reply, and emits its pieces.
func read(s *ssestream.Stream[openai.ChatCompletionChunk], emit func(agent.Delta)) (reply agent.Reply, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	var text, refusal strings.Builder
	var calls []*agent.Call
	var args []*strings.Builder
	finished := ""
	for s.Next() {
		c := s.Current()
		if c.JSON.Usage.Valid() {
			reply.Usage = agent.Usage{
				Input: c.Usage.PromptTokens, Cached: c.Usage.PromptTokensDetails.CachedTokens, Output: c.Usage.CompletionTokens,
			}
		}
		if len(c.Choices) == 0 {
			continue
		}
		finished += c.Choices[0].FinishReason
		d := c.Choices[0].Delta
		text.WriteString(d.Content)
		refusal.WriteString(d.Refusal)
		if d.Content != "" {
			emit(agent.Delta{Text: d.Content})
		}
		for _, piece := range d.ToolCalls {
			if piece.Index < 0 || piece.Index > int64(len(calls)) {
				return reply, fmt.Errorf("openai: %w: call %d follows call %d", agent.ErrInvalidReply, piece.Index, len(calls)-1)
			}
			if piece.Index == int64(len(calls)) {
				calls, args = append(calls, &agent.Call{}), append(args, new(strings.Builder))
			}
			call := calls[piece.Index]
			if piece.ID != "" {
				call.ID = piece.ID
			}
			if piece.Function.Name != "" {
				call.Tool += piece.Function.Name
				emit(agent.Delta{Tool: call.Tool})
			}
			args[piece.Index].WriteString(piece.Function.Arguments)
		}
	}
	switch {
	case s.Err() != nil:
		return reply, failure(s.Err())
	case refusal.Len() > 0 || finished == "content_filter":
		return reply, &agent.RefusalError{Text: refusal.String()}
	case finished == "":
		return reply, fmt.Errorf("openai: %w: the reply has no end", agent.ErrUnavailable)
	}
	if text.Len() > 0 {
		reply.Parts = append(reply.Parts, &agent.Text{Text: text.String()})
	}
	for i, c := range calls {
		c.Args = args[i].String()
		reply.Parts = append(reply.Parts, c)
	}
	return reply, nil
}

// failure adds the error of package agent to an error of the client.
func failure(err error) error {
	var e *openai.Error
	if !errors.As(err, &e) { // of the connection, or in the middle of the stream
		return fmt.Errorf("openai: %w: %w", agent.ErrUnavailable, err)
	}
	switch {
	case e.StatusCode == http.StatusTooManyRequests:
		err = fmt.Errorf("openai: %w: %w: %s", agent.ErrRateLimited, err, e.Message)
		if s, bad := strconv.Atoi(e.Response.Header.Get("Retry-After")); bad == nil {
			return graph.RetryAfter(err, time.Duration(s)*time.Second)
		}
		return err
	case e.Code == "context_length_exceeded" || e.StatusCode == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("openai: %w: %w: %s", agent.ErrContextTooLarge, err, e.Message)
	case e.StatusCode >= http.StatusInternalServerError || e.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("openai: %w: %w: %s", agent.ErrUnavailable, err, e.Message)
	}
	return fmt.Errorf("openai: the provider refuses the request; correct it: %w: %s", err, e.Message)
}
