// Package flow has the states of the graphs whose running is measured.
package flow

//go:generate go tool graphgen -type=Counter,Conversation,Fact

// Counter is a state that costs next to nothing.
type Counter struct {
	N int `graph:"sum"`
}

// Conversation is a state that grows by a message a step.
type Conversation struct {
	Step     int
	Messages []Message `graph:"append"`
}

// Message is one message.
type Message struct {
	ID, Role, Text string
}

// Fact is a value of the store.
type Fact struct {
	Kind, Text string
}
