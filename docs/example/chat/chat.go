// Package chat ships a part of a state, for states of other packages to embed.
package chat

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=Messages,Message,Source

// Messages is the part of a state that has a conversation.
type Messages struct {
	Messages []Message `graph:"upsert,key=ID"`
	Topics   []string  `graph:"reduce=AddTopic"`
}

// Message is a message with its own codec, so that unexported fields are stored too.
type Message struct {
	ID, Text string
	edits    int
}

// Source says where a message got its facts. States of other packages use the codec of this one.
type Source interface{ isSource() }

//graphgen:union Source = File | *Page

// File is a source by its name.
type File string

// Page is a page of a web site.
type Page struct{ URL, Title string }

func (File) isSource()  {}
func (*Page) isSource() {}

// Edit puts a message with another text into u.
func Edit(u *state.Keyed[string, Message], m Message, text string) {
	m.Text, m.edits = text, m.edits+1
	u.Upsert(m)
}

// AddShorten adds a node that shortens the last message to a graph over Messages, or over any
// state that embeds Messages.
func AddShorten(b *graph.Builder[Messages, MessagesUpdate], id graph.ID) graph.ID {
	return b.Node(id, func(_ context.Context, s Messages) (MessagesUpdate, error) {
		var u MessagesUpdate
		Edit(&u.Messages, s.Messages[len(s.Messages)-1], "short")
		return u, nil
	})
}

// AddTopic adds a topic. It is exported, because the code of other packages calls it.
func AddTopic(old []string, topic string) []string {
	return append(old[:len(old):len(old)], topic)
}
