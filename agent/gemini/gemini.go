// Package gemini (experimental) makes models of Gemini, on the official client.
//
//	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: key}) // google.golang.org/genai
//	model := agentgemini.New(client, "gemini-3-flash", nil)                // this package
package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"google.golang.org/genai"
)

// provider is the Provider of Reasoning.
const provider = "gemini"

// unsigned is the signature that the provider documents for a call that another model made. Newer
// models refuse a call without a signature.
var unsigned = []byte("skip_thought_signature_validator")

// New returns the model of the given name. It streams replies. config is the base of each request,
// for example for its ThinkingConfig; nil for none. New copies config, and sets the instructions,
// tools and schema of each request. The client must have no RetryOptions, because the graph
// retries.
//
// Errors wrap those of package agent, and the genai.APIError of the client. The status 429 has the
// delay of its RetryInfo. Signatures of this provider are sent back: a Reasoning has the signature
// of the part that follows it. Reasoning of others is left out. Arguments of a call that are no
// JSON object are sent back as the field invalid of one. Some models refuse an agent.Config with
// both Tools and Output.
func New(client *genai.Client, name string, config *genai.GenerateContentConfig) agent.Model {
	var base genai.GenerateContentConfig
	if config != nil {
		base = *config
	}
	return agent.ModelFunc(func(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
		c := base
		if err := set(&c, r); err != nil {
			return agent.Reply{}, err
		}
		all, err := contents(r.Messages)
		if err != nil {
			return agent.Reply{}, err
		}
		rd := reader{emit: emit}
		for chunk, err := range client.Models.GenerateContentStream(ctx, name, all, &c) {
			if err != nil {
				return rd.reply, failure(err)
			}
			if err := rd.add(chunk); err != nil {
				return rd.reply, err
			}
		}
		return rd.end()
	})
}

// set puts the instructions, tools and schema of r into c.
func set(c *genai.GenerateContentConfig, r agent.Request) error {
	once := false
	c.AutomaticContinuation = &once // the client would repeat the request by itself
	if r.System != "" {
		c.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: r.System}}}
	}
	var functions []*genai.FunctionDeclaration
	for _, t := range r.Tools {
		var schema map[string]any
		if err := json.Unmarshal(t.Schema, &schema); err != nil {
			return fmt.Errorf("gemini: the schema of tool %s is not JSON: %w; correct it", t.Name, err)
		}
		functions = append(functions, &genai.FunctionDeclaration{Name: t.Name, Description: t.Description, ParametersJsonSchema: schema})
	}
	if functions != nil {
		c.Tools = append(slices.Clip(c.Tools), &genai.Tool{FunctionDeclarations: functions})
		if r.NoCalls {
			c.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeNone}}
		}
	}
	if r.Output != nil {
		var schema map[string]any
		if err := json.Unmarshal(r.Output, &schema); err != nil {
			return fmt.Errorf("gemini: the schema of the output is not JSON: %w; correct it", err)
		}
		c.ResponseMIMEType, c.ResponseJsonSchema = "application/json", schema
	}
	return nil
}

// contents returns messages in the protocol, in which roles alternate.
func contents(messages []agent.Message) ([]*genai.Content, error) {
	var all []*genai.Content
	for _, m := range messages {
		role := genai.RoleUser
		if m.Role == agent.RoleAssistant {
			role = genai.RoleModel
		}
		converted, err := parts(m)
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && all[n-1].Role == role {
			all[n-1].Parts = append(all[n-1].Parts, converted...)
		} else if len(converted) > 0 {
			all = append(all, &genai.Content{Role: role, Parts: converted})
		}
	}
	return all, nil
}

// parts returns the parts of m in the protocol.
func parts(m agent.Message) ([]*genai.Part, error) {
	var all []*genai.Part
	var signature []byte // of the next part
	signed := false
	add := func(p *genai.Part) {
		p.ThoughtSignature, signature = signature, nil
		signed = signed || p.ThoughtSignature != nil
		if p.FunctionCall != nil && !signed {
			p.ThoughtSignature, signed = unsigned, true
		}
		all = append(all, p)
	}
	for _, c := range m.Parts {
		switch c := c.(type) {
		case *agent.Text:
			if c.Text != "" {
				add(&genai.Part{Text: c.Text})
			}
		case *agent.Image:
			add(data(c.URL, c.MIME, c.Data))
		case *agent.File:
			add(data(c.URL, c.MIME, c.Data))
		case *agent.Reasoning:
			if c.Provider == provider && len(c.Opaque) > 0 {
				signature = c.Opaque
			}
		case *agent.Call:
			add(&genai.Part{FunctionCall: &genai.FunctionCall{ID: c.ID, Name: c.Tool, Args: input(c.Args)}})
		case *agent.Result:
			f, err := response(c)
			if err != nil {
				return nil, err
			}
			add(&genai.Part{FunctionResponse: f})
		default:
			return nil, fmt.Errorf("gemini: %w: a %T", agent.ErrUnsupported, c)
		}
	}
	return all, nil // a signature at the end has no part: the provider does not need it
}

// data returns an image or a file.
func data(url, mime string, bytes []byte) *genai.Part {
	if url != "" {
		return genai.NewPartFromURI(url, mime)
	}
	return genai.NewPartFromBytes(bytes, mime)
}

// response returns the result of a call.
func response(r *agent.Result) (*genai.FunctionResponse, error) {
	key := "output"
	if r.Failed {
		key = "error"
	}
	f := &genai.FunctionResponse{ID: r.ID, Name: r.Tool, Response: map[string]any{key: agent.TextOf(r.Parts)}}
	for _, c := range r.Parts {
		switch c := c.(type) {
		case *agent.Text:
		case *agent.Image:
			f.Parts = append(f.Parts, attachment(c.URL, c.MIME, c.Data))
		case *agent.File:
			f.Parts = append(f.Parts, attachment(c.URL, c.MIME, c.Data))
		default:
			return nil, fmt.Errorf("gemini: %w: a %T in the result of tool %s", agent.ErrUnsupported, c, r.Tool)
		}
	}
	return f, nil
}

// attachment returns an image or a file of a result.
func attachment(url, mime string, bytes []byte) *genai.FunctionResponsePart {
	if url != "" {
		return genai.NewFunctionResponsePartFromURI(url, mime)
	}
	return genai.NewFunctionResponsePartFromBytes(bytes, mime)
}

// input returns the arguments of a call as an object.
func input(args string) map[string]any {
	var object map[string]any
	if args == "" || json.Unmarshal([]byte(args), &object) == nil && object != nil {
		return object
	}
	return map[string]any{"invalid": args}
}

// reader reads a reply from its pieces.
type reader struct {
	emit     func(agent.Delta)
	reply    agent.Reply
	finished genai.FinishReason
	text     strings.Builder // of the newest part
}

// add reads one piece.
func (r *reader) add(chunk *genai.GenerateContentResponse) error {
	if u := chunk.UsageMetadata; u != nil {
		r.reply.Usage = agent.Usage{
			Input:  int64(u.PromptTokenCount) + int64(u.ToolUsePromptTokenCount),
			Cached: int64(u.CachedContentTokenCount),
			Output: int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount),
		}
	}
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" {
		return &agent.RefusalError{Text: strings.TrimSpace(string(f.BlockReason) + " " + f.BlockReasonMessage)}
	}
	if len(chunk.Candidates) == 0 {
		return nil
	}
	c := chunk.Candidates[0]
	if c.FinishReason != "" {
		r.finished = c.FinishReason
	}
	if c.Content == nil {
		return nil
	}
	for _, p := range c.Content.Parts {
		if len(p.ThoughtSignature) > 0 {
			r.begin(&agent.Reasoning{Provider: provider, Opaque: p.ThoughtSignature})
		}
		switch {
		case p.FunctionCall != nil:
			args, err := json.Marshal(p.FunctionCall.Args)
			if err != nil {
				return fmt.Errorf("gemini: %w: the arguments of %s: %w", agent.ErrInvalidReply, p.FunctionCall.Name, err)
			}
			if p.FunctionCall.Args == nil {
				args = []byte("{}")
			}
			r.begin(&agent.Call{ID: p.FunctionCall.ID, Tool: p.FunctionCall.Name, Args: string(args)})
			r.emit(agent.Delta{Tool: p.FunctionCall.Name})
		case p.Text != "" && p.Thought:
			if last, ok := r.last().(*agent.Reasoning); !ok || last.Opaque != nil {
				r.begin(&agent.Reasoning{Provider: provider})
			}
			r.text.WriteString(p.Text)
			r.emit(agent.Delta{Reasoning: p.Text})
		case p.Text != "":
			if _, ok := r.last().(*agent.Text); !ok {
				r.begin(&agent.Text{})
			}
			r.text.WriteString(p.Text)
			r.emit(agent.Delta{Text: p.Text})
		case p.Text == "" && (p.InlineData != nil || p.FileData != nil || p.ExecutableCode != nil || p.CodeExecutionResult != nil || p.ToolCall != nil):
			return fmt.Errorf("gemini: %w: a part that is no text and no call", agent.ErrUnsupported)
		}
	}
	return nil
}

// begin adds a part, after it has ended the newest one.
func (r *reader) begin(c agent.Content) {
	switch p := r.last().(type) {
	case *agent.Text:
		p.Text = r.text.String()
	case *agent.Reasoning:
		p.Text = r.text.String()
	}
	r.text.Reset()
	if c != nil {
		r.reply.Parts = append(r.reply.Parts, c)
	}
}

// last returns the newest part; nil for none.
func (r *reader) last() agent.Content {
	if n := len(r.reply.Parts); n > 0 {
		return r.reply.Parts[n-1]
	}
	return nil
}

// end returns the whole reply.
func (r *reader) end() (agent.Reply, error) {
	r.begin(nil)
	switch r.finished {
	case genai.FinishReasonStop, genai.FinishReasonMaxTokens:
		return r.reply, nil
	case "":
		return r.reply, fmt.Errorf("gemini: %w: the reply has no end", agent.ErrUnavailable)
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls,
		genai.FinishReasonOther, genai.FinishReasonLanguage:
		return r.reply, fmt.Errorf("gemini: %w: it ends with %s", agent.ErrInvalidReply, r.finished)
	}
	return r.reply, &agent.RefusalError{Text: string(r.finished)}
}

// failure adds the error of package agent to an error of the client.
func failure(err error) error {
	var e genai.APIError
	if !errors.As(err, &e) { // of the connection, or in the middle of the stream
		return fmt.Errorf("gemini: %w: %w", agent.ErrUnavailable, err)
	}
	switch {
	case e.Code == http.StatusTooManyRequests:
		err = fmt.Errorf("gemini: %w: %w", agent.ErrRateLimited, err)
		for _, d := range e.Details {
			text, _ := d["retryDelay"].(string) // of a google.rpc.RetryInfo
			if delay, bad := time.ParseDuration(text); bad == nil {
				return graph.RetryAfter(err, delay)
			}
		}
		return err
	case e.Code == http.StatusRequestEntityTooLarge || strings.Contains(e.Message, "exceeds the maximum number of tokens"):
		return fmt.Errorf("gemini: %w: %w", agent.ErrContextTooLarge, err)
	case e.Code >= http.StatusInternalServerError || e.Code == http.StatusRequestTimeout:
		return fmt.Errorf("gemini: %w: %w", agent.ErrUnavailable, err)
	}
	return fmt.Errorf("gemini: the provider refuses the request; correct it: %w", err)
}
