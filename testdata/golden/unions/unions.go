// Package unions has closed interfaces, with members by pointer and by value.
package unions

import _ "github.com/graphgen-go/graphgen/testdata/golden/unions/parts" // for the union

//go:generate go tool graphgen -type=State,Envelope

// State holds messages of several types.
type State struct {
	Messages []Message          `graph:"append"`
	ByID     []Message          `graph:"upsert,key=ID"`
	Named    map[string]Message `graph:"merge"`
	Last     Message
	Part     Part
	Value    Value `graph:"last"`
	Nested   [2]Message
	Pointer  *Envelope
}

// Message is what one side said.
type Message interface {
	ID() string
	message()
}

//graphgen:union Message = *User | *Assistant | Tool | Group

// User is a message by pointer.
type User struct{ Key, Text string }

// Assistant is a message by pointer that holds what must be cloned.
type Assistant struct {
	Key   string
	Parts []Part
}

// Tool is a message by value.
type Tool struct {
	Key    string
	Output []byte
}

// Group is a message that is a list of others.
type Group []Message

// ID implements Message.
func (m *User) ID() string { return m.Key }

// ID implements Message.
func (m *Assistant) ID() string { return m.Key }

// ID implements Message.
func (m Tool) ID() string { return m.Key }

// ID implements Message.
func (m Group) ID() string { return "group" }

func (*User) message()      {}
func (*Assistant) message() {}
func (Tool) message()       {}
func (Group) message()      {}

// Part is a part of an answer.
type Part interface{ Part() }

//graphgen:union Part = parts.Text | *parts.Image

// Value is a union of declared basic types.
type Value interface{ value() }

//graphgen:union Value = Number | Word | Flag

// Number, Word and Flag are values.
type (
	Number float64
	Word   string
	Flag   bool
)

func (Number) value() {}
func (Word) value()   {}
func (Flag) value()   {}

// Envelope is a payload that holds a union.
type Envelope struct{ Content Message }
