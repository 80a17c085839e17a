package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// Errors of models, wrapped in the errors of adapters; test with errors.Is.
var (
	// ErrRateLimited is returned if the provider refuses a call because of a limit of calls or
	// tokens. The error has the pause that the provider asks for, as graph.RetryAfter.
	ErrRateLimited = errors.New("agent: the provider limits the rate; try again later")
	// ErrUnavailable is returned if the provider cannot be reached, fails, or breaks off a reply.
	ErrUnavailable = errors.New("agent: the provider is unavailable; try again later")
	// ErrContextTooLarge is returned if the request has more tokens than the model can read. Trim
	// and Summary shorten requests.
	ErrContextTooLarge = errors.New("agent: the request is too large for the model; shorten it with Trim or Summary")
	// ErrUnsupported is returned if a request has a kind of content that the adapter cannot send.
	// It is also returned if a reply has a kind that the adapter does not know.
	ErrUnsupported = errors.New("agent: the adapter does not support this content; leave it out")
	// ErrInvalidReply is returned for an empty reply, and for one that does not fit Config.Output.
	ErrInvalidReply = errors.New("agent: the model sent an invalid reply; try again")
)

// RefusalError reports that the model refused to answer.
type RefusalError struct {
	Text string // the words of the model; empty if the provider gave none
}

func (e *RefusalError) Error() string {
	text := "agent: the model refused to answer; change the request"
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Temporary reports whether another call of the model can succeed after err: the error is
// ErrRateLimited, ErrUnavailable or ErrInvalidReply.
func Temporary(err error) bool {
	return errors.Is(err, ErrRateLimited) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalidReply)
}

// Model calls a language model. Implementations are safe for concurrent use.
type Model interface {
	// Generate returns the whole reply of the model to r. It passes the pieces of a reply that
	// arrive earlier to emit, one at a time, and not after it has returned. With an error, the
	// Usage of the reply counts, and its Parts do not. Generate must not modify r or keep it,
	// and must not repeat a failed call: the graph does.
	Generate(ctx context.Context, r Request, emit func(Delta)) (Reply, error)
}

// ModelFunc is a function as a Model.
type ModelFunc func(ctx context.Context, r Request, emit func(Delta)) (Reply, error)

// Generate calls f.
func (f ModelFunc) Generate(ctx context.Context, r Request, emit func(Delta)) (Reply, error) {
	return f(ctx, r, emit)
}

// Middleware wraps a Model. It can change requests and replies, for example to remove secrets. A
// changed request is not stored. A changed reply is stored.
type Middleware func(Model) Model

// Request is a call of a model.
type Request struct {
	Agent  string // the name of the agent that calls; empty for the model of Summary
	System string // the instructions; empty for none
	// Messages is the conversation. The results of calls follow the message with the calls, in the
	// order of the calls, and every call has a result.
	Messages []Message
	Tools    []ToolSpec
	// NoCalls asks the model for an answer without calls. Tools are still listed, because some
	// providers need them for the calls among Messages, and because their caches stay warm.
	NoCalls bool
	Output  json.RawMessage // the JSON schema of the answer; nil for text
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string // letters, digits, _ and -; at most 64
	Description string
	Schema      json.RawMessage // the JSON schema of the arguments, an object
}

// Reply is the whole reply of a model.
type Reply struct {
	Parts []Content // texts, reasoning and calls, in the order of the model
	Usage Usage
}

// Usage counts the tokens and the cost of one call of a model.
type Usage struct {
	Input  int64   // tokens read, cached ones included
	Cached int64   // tokens of Input that the provider had cached
	Output int64   // tokens written, those of reasoning included
	Cost   float64 // set by Priced
}

// Delta is a piece of a reply. The node of the model emits it: graph.EventCustom yields it. Pieces
// of a failed attempt stay emitted. Event.Attempt distinguishes them from those of the next
// attempt.
type Delta struct {
	Agent     string `json:"agent,omitempty"`     // the name of the agent
	Text      string `json:"text,omitempty"`      // a piece of the text
	Reasoning string `json:"reasoning,omitempty"` // a piece of the reasoning
	Tool      string `json:"tool,omitempty"`      // the model begins a call of this tool
	Restart   bool   `json:"restart,omitempty"`   // another model begins; earlier pieces do not count
}

// Fallback returns a Model that calls first and, after an error, each of others in turn. It
// returns the reply of the first that succeeds, with the usage of all calls. It does not call
// another model after a RefusalError, or if ctx has ended. Before each further model it emits a
// Delta with Restart. If all fail, the error is that of the last one.
func Fallback(first Model, others ...Model) Model {
	return ModelFunc(func(ctx context.Context, r Request, emit func(Delta)) (Reply, error) {
		reply, err := first.Generate(ctx, r, emit)
		for _, m := range others {
			if refusal := (*RefusalError)(nil); err == nil || ctx.Err() != nil || errors.As(err, &refusal) {
				break
			}
			used := reply.Usage
			emit(Delta{Restart: true})
			reply, err = m.Generate(ctx, r, emit)
			reply.Usage = reply.Usage.plus(used)
		}
		return reply, err
	})
}

// update returns the update that adds u to a chat.
func (u Usage) update() ChatUpdate {
	var c ChatUpdate
	c.InputTokens.Add(u.Input)
	c.CachedTokens.Add(u.Cached)
	c.OutputTokens.Add(u.Output)
	c.Cost.Add(u.Cost)
	c.Spent.Add(u.Cost)
	return c
}

// plus returns the sum of u and other.
func (u Usage) plus(other Usage) Usage {
	return Usage{u.Input + other.Input, u.Cached + other.Cached, u.Output + other.Output, u.Cost + other.Cost}
}

// Price is the price of a million tokens of a model, in a currency of your choice.
type Price struct {
	Input  float64 // tokens read that the provider had not cached
	Cached float64 // tokens read that the provider had cached
	Output float64 // tokens written
}

// Priced returns a Model that sets the cost of the replies of m, also of failed ones.
func Priced(m Model, p Price) Model {
	return ModelFunc(func(ctx context.Context, r Request, emit func(Delta)) (Reply, error) {
		reply, err := m.Generate(ctx, r, emit)
		u := &reply.Usage
		u.Cost = (float64(u.Input-u.Cached)*p.Input + float64(u.Cached)*p.Cached + float64(u.Output)*p.Output) / 1e6
		return reply, err
	})
}

// Trim returns a Middleware that shows the model only the newest turns: at most limit messages, or
// the last turn if that is longer. A turn begins with a message of a user. The beginning moves
// only once in limit/2 messages, so that requests share their beginning and the caches of
// providers stay warm. A limit below 2 is 2. Trim stores nothing: the Chat keeps all messages.
func Trim(limit int) Middleware {
	limit = max(limit, 2)
	return func(m Model) Model {
		return ModelFunc(func(ctx context.Context, r Request, emit func(Delta)) (Reply, error) {
			r.Messages = trimmed(r.Messages, limit)
			return m.Generate(ctx, r, emit)
		})
	}
}

// trimmed returns the newest turns of messages for Trim.
func trimmed(messages []Message, limit int) []Message {
	if len(messages) <= limit {
		return messages
	}
	step := limit / 2
	begin := (len(messages) - limit + step - 1) / step * step // the least multiple of step that fits
	last := 0
	for i, m := range slices.Backward(messages) {
		if m.Role == RoleUser {
			last = i // where the last turn begins
			break
		}
	}
	for i := begin; i < last; i++ {
		if messages[i].Role == RoleUser {
			return messages[i:]
		}
	}
	return messages[last:]
}
