// Package multi has two files generated for it, which need codecs for the same types.
package multi

//go:generate go tool graphgen -type=First
//go:generate go tool graphgen -type=SecondState,Payload -o second_graphgen.go

// First is a state.
type First struct {
	Items []Item `graph:"append"`
}

// SecondState is another, for which the file is named on the line.
type SecondState struct {
	Items []Item `graph:"append"`
	First First
	Extra Payload
}

// Payload belongs to the second.
type Payload struct{ Items []Item }

// Item is part of both.
type Item struct{ Tags []string }

// Marked is generated into a file of its own.
//
//graphgen:state
type Marked struct{ Item Item }

func node(s First) (FirstUpdate, SecondStateUpdate, MarkedUpdate) {
	return FirstUpdate{}, SecondStateUpdate{}, MarkedUpdate{}
}

var _ = node
