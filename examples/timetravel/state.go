package main

import "fmt"

//go:generate go tool graphgen -type=State,Two

// State is a trip being planned. Each field's tag says how what a node writes is merged.
type State struct {
	City   string
	Days   int
	Budget int64 // in euros

	Booked []Item            `graph:"upsert,key=Kind"` // one of a kind: a cheaper hotel takes the place of the dear one
	Facts  map[string]string `graph:"merge"`
	Tags   []string          `graph:"union"`
	Tries  int               `graph:"sum"` // how often something cheaper was looked for
	Dear   int64             `graph:"max"` // the dearest total that was looked at
	Log    []string          `graph:"append"`
	Ready  bool
}

// Item is one thing that is booked.
type Item struct {
	Kind  string // flight, hotel or tours
	Name  string
	Euros int64
}

// String is how an item is printed, in differences too.
func (i Item) String() string { return fmt.Sprintf("%s %s %d", i.Kind, i.Name, i.Euros) }

// total returns what the trip costs.
func (s *State) total() int64 {
	var sum int64
	for _, i := range s.Booked {
		sum += i.Euros
	}
	return sum
}

// Two is the state of the smallest graph that is worth travelling in.
type Two struct {
	Foo string
	Bar []string `graph:"append"`
}
