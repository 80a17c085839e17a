package state_test

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=Ticket

// Ticket is a state. A tag names the reducer that merges updates of its field.
type Ticket struct {
	Status Status
	Log    []string       `graph:"append"`
	Counts map[string]int `graph:"merge"`
	Tokens int64          `graph:"sum"`
}

// Status is the status of a ticket.
type Status string

// A node builds its update by methods. Each field has the methods that its reducer allows. Here, a
// test applies the update without a graph.
func Example() {
	var u TicketUpdate
	u.Status.Set("new") // an untyped constant for a field of a named type
	u.Log.Append("Hello")
	u.Counts.Put("asked", 1)
	u.Tokens.Add(42)
	fmt.Println(u)

	after, err := state.Apply(TicketSchema, Ticket{Tokens: 100}, u)
	fmt.Println(after, err)
	// Output:
	// TicketUpdate{Status: set new, Log: append [Hello], Counts: put map[asked:1], Tokens: add 42}
	// {new [Hello] map[asked:1] 142} <nil>
}
