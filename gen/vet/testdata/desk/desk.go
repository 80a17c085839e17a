// Package desk has the states and payloads of the programs that the tests examine.
package desk

import "time"

// State is the state of the graphs.
//
//graphgen:state
type State struct {
	Status string
	Order  Order
	Log    []string `graph:"append"`
	Docs   []Doc    `graph:"upsert,key=Name"`
	Items  []*Item  `graph:"append"`
	Facts  map[string]Fact
	Counts map[string]int `graph:"merge"`
	Plan   *Plan
	Total  int64 `graph:"sum"`
	Cache  *Plan `graph:"untracked"`
	At     time.Time
	Notes
}

// Notes is a part of State.
type Notes struct {
	Lines []string `graph:"append"`
}

// Order is an order of a customer.
type Order struct {
	Name  string
	Cents int64
	Items []string
}

// SetName sets the name.
func (o *Order) SetName(name string) { o.Name = name }

// Item is a part of an order.
type Item struct {
	Name string
	N    int
}

// Fact is a fact.
type Fact struct {
	Text string
	Tags []string
}

// Plan is a list of steps.
type Plan struct {
	Steps []string
	Next  *Plan
}

// Doc is a document that is sent to a task node.
//
//graphgen:payload
type Doc struct {
	Name  string
	Pages []string
	Index map[string]int
}

// Ask is the payload of a question.
//
//graphgen:payload
type Ask struct {
	Text string
	At   time.Time
	N    int
}

// Reply is the answer to a question.
//
//graphgen:payload
type Reply struct{ OK bool }

// Letter is the state of a subgraph.
//
//graphgen:state
type Letter struct {
	To    string
	Lines []string `graph:"append"`
}
