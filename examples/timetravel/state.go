package main

import "fmt"

//go:generate go tool graphgen -type=State,Two

// State is the plan of a trip. The tag of each field defines how updates are merged.
type State struct {
	City   string
	Days   int
	Budget int64 // in euros

	Booked []Item            `graph:"upsert,key=Kind"` // one of each kind: a cheaper hotel replaces the expensive one
	Facts  map[string]string `graph:"merge"`
	Tags   []string          `graph:"union"`
	Tries  int               `graph:"sum"` // number of searches for something cheaper
	Dear   int64             `graph:"max"` // the most expensive total so far
	Log    []string          `graph:"append"`
	Ready  bool
}

// Item is one booking.
type Item struct {
	Kind  string // flight, hotel or tours
	Name  string
	Euros int64
}

// String returns the text of an item, which differences also use.
func (i Item) String() string { return fmt.Sprintf("%s %s %d", i.Kind, i.Name, i.Euros) }

// total returns the price of the trip.
func (s *State) total() int64 {
	var sum int64
	for _, i := range s.Booked {
		sum += i.Euros
	}
	return sum
}

// Two is the state of the smallest graph that is useful for time travel.
type Two struct {
	Foo string
	Bar []string `graph:"append"`
}
