// Package chat ships a part of a state: the messages of a conversation, with their reducers.
package chat

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// Messages is a part that states embed. It is also a state by itself.
//
//graphgen:state
type Messages struct {
	Messages []Message `graph:"upsert,key=ID"`
	Cursor   Cursor    `graph:"max,name=cursor,was=pos"`
	Topics   []string  `graph:"reduce=AddTopic"`
	Unread   *Window   `graph:"untracked"`
	Header
}

// Header is a part of a part.
type Header struct {
	Title string            `graph:"last,name=title"`
	Props map[string]string `graph:"merge"`
}

// Draft has a reducer. A tag of the field that embeds it can keep it one field.
type Draft struct {
	Texts []string `graph:"append"`
}

// Message is one message. Only this package can reach its fields, so it has its own codec.
//
//graphgen:payload
type Message struct {
	ID   string
	Text string
	seen []bool
}

// NewMessage returns a message.
func NewMessage(id, text string, seen ...bool) Message { return Message{id, text, seen} }

// Cursor is the position in the conversation.
type Cursor int64

// Window is what the user sees of it.
type Window struct{ From, To int }

// AddTopic appends a topic.
func AddTopic(old []string, in string) []string { return append(old[:len(old):len(old)], in) }

// Migrate reads the topics of version 1: words in one string.
func (m *Messages) Migrate(from *state.OldFields) error {
	words, ok := from.String("Topics")
	if !ok {
		return fmt.Errorf("chat: cannot migrate %q", from.Names())
	}
	m.Topics = strings.Fields(words)
	return nil
}
