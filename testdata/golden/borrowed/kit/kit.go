// Package kit ships a union, and a part of a state that holds values of it.
package kit

import "time"

//go:generate go tool graphgen -type=Doc,Block

// Doc is a part that states embed. It is also a state by itself.
type Doc struct {
	Blocks []Block          `graph:"upsert,key=ID"`
	Named  map[string]Block `graph:"merge"`
	Pages  []Page           `graph:"append"`
}

// Page is stored field by field, in the package of the state.
type Page struct {
	Title  string
	Blocks []Block
}

// Log is a generic part.
type Log[T any] struct {
	Entries []T `graph:"append"`
}

// Block is a union whose codec other packages use. Only this package knows all its members.
type Block interface {
	ID() string
	block()
}

//graphgen:union Block = Text | *Quote | stamp

// Text is a member by value.
type Text struct{ Key, Text string }

// Quote is a member that holds others.
type Quote struct {
	Key    string
	Blocks []Block
}

// stamp is a member that no other package can name.
type stamp struct{ At time.Time }

// Stamp returns a member that no other package can name.
func Stamp(at time.Time) Block { return stamp{at} }

// ID implements Block.
func (t Text) ID() string { return t.Key }

// ID implements Block.
func (q *Quote) ID() string { return q.Key }

// ID implements Block.
func (s stamp) ID() string { return s.At.String() }

func (Text) block()   {}
func (*Quote) block() {}
func (stamp) block()  {}
