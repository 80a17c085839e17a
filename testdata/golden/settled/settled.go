// Package settled has types whose decoded values can differ from those that were stored.
package settled

import (
	"math/big"
	"time"
)

//go:generate go tool graphgen -type=State,Event

// State has such types under all reducers.
type State struct {
	At     time.Time
	Times  []time.Time          `graph:"append"`
	ByDay  map[string]time.Time `graph:"merge"`
	Events []*Event             `graph:"upsert,key=ID"`
	Latest *Event               `graph:"reduce=later"`
	Pair   [2]time.Time         `graph:"last"`
	Part   Part
	Parts  []Part `graph:"append"`
	Tree   Tree
	Float  *big.Float
	Floats map[string]big.Float `graph:"merge,text"`
	Plain  int                  `graph:"sum"`
}

// Event has times behind pointers and in maps.
type Event struct {
	ID    string
	At    *time.Time
	Marks map[string][]time.Time
}

// later returns the input if it is later.
func later(old *Event, in time.Time) *Event {
	if old != nil && !in.After(*old.At) {
		return old
	}
	return &Event{ID: in.Format(time.RFC3339), At: &in}
}

// Part is a union of pointers and values.
//
//graphgen:union Part = *Text | Stamp
type Part interface{ part() }

// Text is a member of Part.
type Text struct{ S string }

// Stamp is a member of Part.
type Stamp struct{ At time.Time }

func (*Text) part() {}
func (Stamp) part() {}

// Tree is recursive.
type Tree struct {
	At   time.Time
	Subs []Tree
}
