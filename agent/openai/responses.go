package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
)

// provider is the Provider of Reasoning.
const provider = "openai"

// NewResponses is New for the protocol responses, which keeps the reasoning of a model between its
// calls of tools. The provider stores nothing: each request brings the whole conversation, with
// the reasoning in encrypted form. For summaries of the reasoning, pass
// option.WithJSONSet("reasoning.summary", "auto"). Reasoning of other providers is left out. The
// results of tools can have images and files.
func NewResponses(client openai.Client, name string, options ...option.RequestOption) agent.Model {
	options = append([]option.RequestOption{option.WithMaxRetries(0)}, options...)
	return agent.ModelFunc(func(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
		p, err := responseParams(name, r)
		if err != nil {
			return agent.Reply{}, err
		}
		return readResponse(client.Responses.NewStreaming(ctx, p, options...), emit)
	})
}

// responseParams returns the request of the protocol.
func responseParams(name string, r agent.Request) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{
		Model: name, Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	if r.System != "" {
		p.Instructions = openai.String(r.System)
	}
	for _, m := range r.Messages {
		items, err := inputItems(m)
		if err != nil {
			return p, err
		}
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, items...)
	}
	for _, t := range r.Tools {
		tool := responses.FunctionToolParam{Name: t.Name, Description: openai.String(t.Description), Strict: openai.Bool(false)}
		if err := json.Unmarshal(t.Schema, &tool.Parameters); err != nil {
			return p, fmt.Errorf("openai: the schema of tool %s is not JSON: %w", t.Name, err)
		}
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &tool})
	}
	if r.NoCalls && len(r.Tools) > 0 {
		p.ToolChoice.OfToolChoiceMode = openai.Opt(responses.ToolChoiceOptionsNone)
	}
	if r.Output != nil {
		format := responses.ResponseFormatTextJSONSchemaConfigParam{Name: "output"}
		if err := json.Unmarshal(r.Output, &format.Schema); err != nil {
			return p, fmt.Errorf("openai: the schema of the output is not JSON: %w", err)
		}
		p.Text.Format.OfJSONSchema = &format
	}
	return p, nil
}

// inputItems returns m as items of the protocol. A reasoning that no text or call of m follows is
// left out, because the provider refuses it.
func inputItems(m agent.Message) ([]responses.ResponseInputItemUnionParam, error) {
	var items, thought []responses.ResponseInputItemUnionParam
	var said responses.ResponseInputMessageContentListParam
	for _, c := range m.Parts {
		switch c := c.(type) {
		case *agent.Reasoning:
			if c.Provider == provider {
				raw := param.Override[responses.ResponseReasoningItemParam](json.RawMessage(c.Opaque))
				thought = []responses.ResponseInputItemUnionParam{{OfReasoning: &raw}}
			}
		case *agent.Call:
			items = append(items, thought...)
			items, thought = append(items, responses.ResponseInputItemParamOfFunctionCall(c.Args, c.ID, c.Tool)), nil
		case *agent.Result:
			output, err := inputContent(c.Parts)
			if err != nil {
				return nil, err
			}
			if len(output) == 0 {
				output = responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText("(no text)")}
			}
			// The content of a result has the same form as that of a message.
			list := param.Override[responses.ResponseInputItemFunctionCallOutputOutputUnionParam](output)
			items = append(items, responses.ResponseInputItemUnionParam{
				OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(c.ID), Output: list},
			})
		default:
			text, isText := c.(*agent.Text)
			if isText && m.Role == agent.RoleAssistant {
				if text.Text != "" {
					items = append(items, thought...)
					items, thought = append(items, responses.ResponseInputItemParamOfMessage(text.Text, responses.EasyInputMessageRoleAssistant)), nil
				}
				continue
			}
			more, err := inputContent([]agent.Content{c})
			if err != nil {
				return nil, err
			}
			said = append(said, more...)
		}
	}
	if len(said) > 0 {
		items = append(items, responses.ResponseInputItemParamOfMessage(said, responses.EasyInputMessageRoleUser))
	}
	return items, nil
}

// inputContent returns texts, images and files in the protocol.
func inputContent(parts []agent.Content) (all responses.ResponseInputMessageContentListParam, err error) {
	for _, c := range parts {
		switch c := c.(type) {
		case *agent.Text:
			if c.Text != "" {
				all = append(all, responses.ResponseInputContentParamOfInputText(c.Text))
			}
		case *agent.Image:
			image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
			image.OfInputImage.ImageURL = openai.String(link(c.URL, c.MIME, c.Data))
			all = append(all, image)
		case *agent.File:
			var f responses.ResponseInputFileParam
			if c.URL != "" {
				f.FileURL = openai.String(c.URL)
			} else {
				f.Filename, f.FileData = openai.String(c.Name), openai.String(link("", c.MIME, c.Data))
			}
			all = append(all, responses.ResponseInputContentUnionParam{OfInputFile: &f})
		default:
			return nil, fmt.Errorf("openai: %w: a %T", agent.ErrUnsupported, c)
		}
	}
	return all, nil
}

// readResponse reads a whole reply, and emits its pieces.
func readResponse(s *ssestream.Stream[responses.ResponseStreamEventUnion], emit func(agent.Delta)) (reply agent.Reply, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	items := make(map[int64]responses.ResponseOutputItemUnion) // that have ended, by their place
	ended := false
	for s.Next() {
		switch e := s.Current(); e.Type {
		case "response.output_text.delta":
			emit(agent.Delta{Text: e.Delta})
		case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
			emit(agent.Delta{Reasoning: e.Delta})
		case "response.output_item.added":
			if e.Item.Type == "function_call" {
				emit(agent.Delta{Tool: e.Item.Name})
			}
		case "response.output_item.done":
			items[e.OutputIndex] = e.Item
		case "error":
			return reply, coded(e.Code, e.Message)
		case "response.completed", "response.incomplete", "response.failed":
			u := e.Response.Usage
			reply.Usage = agent.Usage{Input: u.InputTokens, Cached: u.InputTokensDetails.CachedTokens, Output: u.OutputTokens}
			switch {
			case e.Type == "response.failed":
				return reply, coded(string(e.Response.Error.Code), e.Response.Error.Message)
			case e.Response.IncompleteDetails.Reason == "content_filter":
				return reply, &agent.RefusalError{}
			}
			ended = true
		}
	}
	switch {
	case s.Err() != nil:
		return reply, failure(s.Err())
	case !ended:
		return reply, fmt.Errorf("openai: %w: the reply has no end", agent.ErrUnavailable)
	}
	for _, i := range slices.Sorted(maps.Keys(items)) {
		parts, err := outputParts(items[i])
		if err != nil {
			return reply, err
		}
		reply.Parts = append(reply.Parts, parts...)
	}
	return reply, nil
}

// outputParts returns the parts of an item of a reply.
func outputParts(item responses.ResponseOutputItemUnion) (parts []agent.Content, err error) {
	switch item.Type {
	case "message":
		for _, c := range item.Content {
			if c.Type == "refusal" {
				return nil, &agent.RefusalError{Text: c.Refusal}
			}
			if c.Text != "" {
				parts = append(parts, &agent.Text{Text: c.Text})
			}
		}
		return parts, nil
	case "reasoning":
		var text strings.Builder
		for _, s := range item.Summary {
			text.WriteString(s.Text)
		}
		for _, c := range item.Content {
			text.WriteString(c.Text)
		}
		return []agent.Content{&agent.Reasoning{Text: text.String(), Provider: provider, Opaque: []byte(item.RawJSON())}}, nil
	case "function_call":
		return []agent.Content{&agent.Call{ID: item.CallID, Tool: item.Name, Args: item.Arguments.OfString}}, nil
	}
	return nil, fmt.Errorf("openai: %w: an item of type %s", agent.ErrUnsupported, item.Type)
}

// coded returns the error of package agent for an error in the middle of a reply.
func coded(code, message string) error {
	kind := agent.ErrUnavailable
	switch code {
	case "rate_limit_exceeded":
		kind = agent.ErrRateLimited
	case "context_length_exceeded":
		kind = agent.ErrContextTooLarge
	case "invalid_prompt", "bio_policy", "misalignment_policy_violation":
		return &agent.RefusalError{Text: message}
	}
	return fmt.Errorf("openai: %w: %s: %s", kind, code, message)
}
