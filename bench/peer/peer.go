// Package peer is the reference state with the code that github.com/tinylib/msgp generates for it.
package peer

import "time"

//go:generate go tool msgp -tests=false

//msgp:newtime

// State is reference.State.
type State struct {
	ID       [16]byte
	Messages []Message `msg:",allownil"`
	Query    string
	Status   string
	Step     int
	Tokens   int64
	Done     bool
	Started  time.Time
	Facts    map[string]Fact
	Counts   map[string]int64
	Vector   []float64
	Plan     *Plan
}

// Message is reference.Message.
type Message struct {
	ID    string
	Role  string
	Text  string
	At    time.Time
	Calls []ToolCall `msg:",allownil"`
}

// ToolCall is reference.ToolCall.
type ToolCall struct {
	ID   string
	Tool string
	Args []byte `msg:",allownil"`
}

// Fact is reference.Fact.
type Fact struct {
	Source string
	Text   string
	Score  float64
}

// Plan is reference.Plan.
type Plan struct {
	Goal  string
	Steps []string `msg:",allownil"`
	Next  *Plan
}
