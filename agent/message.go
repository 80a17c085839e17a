package agent

import (
	"fmt"
	"strings"
)

//go:generate go tool graphgen -type=Chat,Message,Call,Approval,Decision,Memory,LargeResult

//graphgen:union Content = *Text | *Image | *File | *Reasoning | *Call | *Result

// Role says who a message is from.
type Role string

// The roles of messages.
const (
	RoleUser      Role = "user"      // a person, or the program that uses the agent
	RoleAssistant Role = "assistant" // a model
	RoleTool      Role = "tool"      // a tool: the message has one Result
)

// Message is a message of a conversation.
type Message struct { //nolint:recvcheck // graphgen writes DecodeWire with a pointer
	// ID identifies the message in its Chat. A message with the ID of an earlier one replaces it.
	// The ID of the message of a tool is that of the call.
	ID    string
	Role  Role
	Agent string // the name of the agent that wrote the message; empty for a user
	Parts []Content
}

// Content is a part of a message: a *Text, *Image, *File, *Reasoning, *Call or *Result.
type Content interface{ isContent() }

// Text is text, from a user, a model or a tool.
type Text struct{ Text string }

// Image is an image for the model. It has a URL, or Data of the given MIME type.
type Image struct {
	URL  string
	MIME string // such as image/png
	Data []byte
}

// File is a document for the model, such as a PDF. It has a URL, or Data of the given MIME type.
type File struct {
	Name string // such as invoice.pdf
	URL  string
	MIME string // such as application/pdf
	Data []byte
}

// Reasoning is the thinking of a model before its reply. Adapters pass it back unchanged to the
// provider that made it, and leave it out of requests to others.
type Reasoning struct {
	Text     string
	Provider string // the provider that made it, such as anthropic
	Opaque   []byte // its signature or encrypted content; nil for none
}

// Call is a call of a tool by a model.
type Call struct {
	ID   string // unique in its Chat
	Tool string // the name of the tool
	Args string // JSON, unless the model made a mistake
}

// Result is the result of a Call.
type Result struct {
	ID     string // of the call
	Tool   string // the name of the tool
	Parts  []Content
	Failed bool // the tool was not called, or failed; Parts say why
}

func (*Text) isContent()      {}
func (*Image) isContent()     {}
func (*File) isContent()      {}
func (*Reasoning) isContent() {}
func (*Call) isContent()      {}
func (*Result) isContent()    {}

// Text returns the texts of the message as one string.
func (m Message) Text() string { return TextOf(m.Parts) }

// Calls returns the calls of tools in the message; nil for none.
func (m Message) Calls() []Call {
	var calls []Call
	for _, p := range m.Parts {
		if c, ok := p.(*Call); ok {
			calls = append(calls, *c)
		}
	}
	return calls
}

// TextOf returns the texts among parts as one string.
func TextOf(parts []Content) string {
	var b strings.Builder
	for _, p := range parts {
		if t, ok := p.(*Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Chat is the state of an agent, and a part that the state of a larger graph can embed.
type Chat struct {
	Messages     []Message `graph:"upsert,key=ID"`
	InputTokens  int64     `graph:"sum"` // that models have read, cached ones included
	CachedTokens int64     `graph:"sum"` // those of InputTokens that a provider had cached
	OutputTokens int64     `graph:"sum"` // that models have written
	Cost         float64   `graph:"sum"` // of all calls of models; see Priced
	// Active is the name of the agent that answers the next message, if several agents share the
	// Chat: the one that got the last Handoff. If it is empty, the first agent of Add answers.
	Active string `graph:"last"`

	// The following fields are about the newest input. The next input clears them.

	Steps  int     `graph:"sum,run"` // calls of models
	Spent  float64 `graph:"sum,run"` // their cost
	Output string  `graph:"run"`     // the answer: text, or JSON if Config has an Output
}

// Say returns the input of a turn: a message of a user. id is the ID of the message. A message
// with an ID that the Chat has replaces that message.
func Say(id, text string) ChatUpdate { return Ask(id, &Text{Text: text}) }

// Ask is Say with any parts, such as images.
func Ask(id string, parts ...Content) ChatUpdate {
	var u ChatUpdate
	u.Messages.Upsert(Message{ID: id, Role: RoleUser, Parts: parts})
	return u
}

// resultOf returns the message with the result of c.
func resultOf(c Call, failed bool, parts ...Content) Message {
	return Message{ID: c.ID, Role: RoleTool, Parts: []Content{&Result{ID: c.ID, Tool: c.Tool, Parts: parts, Failed: failed}}}
}

// unfinished is the result that a model sees of a call without one.
const unfinished = "This call was interrupted. Nobody knows whether it took effect."

// viewed returns messages as the agent name sees them, in a form that every provider accepts. The
// results of calls follow the message with the calls, in the order of the calls. A call without a
// result gets one that says so. Results without a call, and messages without parts, are left out.
// Messages of other agents are context from a user, because some providers refuse calls of
// unlisted tools. Some also refuse a conversation that ends with the words of a model.
func viewed(messages []Message, name string) []Message {
	results := make(map[string]Message)
	for _, m := range messages {
		if m.Role == RoleTool {
			results[m.ID] = m
		}
	}
	view := make([]Message, 0, len(messages))
	for _, m := range messages {
		if m.Role == RoleTool || len(m.Parts) == 0 {
			continue // a result follows its call
		}
		own := m.Role != RoleAssistant || m.Agent == name
		shown := []Message{m}
		for _, c := range m.Calls() {
			r, ok := results[c.ID]
			if !ok {
				r = resultOf(c, true, &Text{Text: unfinished})
			}
			shown = append(shown, r)
		}
		if !own {
			shown = retold(shown)
		}
		view = append(view, shown...)
	}
	return view
}

// retold returns a message of another agent, with the results of its calls, as one message of a
// user. It returns none if the message has only reasoning.
func retold(messages []Message) []Message {
	said := messages[0]
	var parts []Content
	add := func(format string, args ...any) {
		parts = append(parts, &Text{Text: fmt.Sprintf(format+"\n", args...)})
	}
	for _, p := range said.Parts {
		switch p := p.(type) {
		case *Text:
			add("[%s] %s", said.Agent, p.Text)
		case *Call:
			add("[%s] called the tool %s with %s", said.Agent, p.Tool, p.Args)
		case *Reasoning: // it is for the provider that made it
		default:
			parts = append(parts, p)
		}
	}
	for _, m := range messages[1:] {
		r, ok := m.Parts[0].(*Result)
		if !ok {
			continue
		}
		state := "returned"
		if r.Failed {
			state = "failed"
		}
		add("[%s] %s:", r.Tool, state)
		parts = append(parts, r.Parts...)
	}
	if len(parts) == 0 {
		return nil
	}
	return []Message{{ID: said.ID, Role: RoleUser, Parts: parts}}
}
