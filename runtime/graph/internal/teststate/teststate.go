// Package teststate has the states that the tests of package graph run on.
package teststate

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate/fuse"
)

//go:generate go tool graphgen -type=Pair,Work,Doc,NewerDoc,NewerPair,WiderPair,Mixed,NewerMixed,Fragile,Mine

// Pair is the state of the example that every account of checkpoints begins with.
type Pair struct {
	Foo string
	Bar []string `graph:"append"`
}

// Work has a field for each way in which a superstep can merge.
type Work struct {
	Log    []string          `graph:"append"`
	Facts  map[string]string `graph:"merge"`
	Count  int               `graph:"sum"`
	Status string
	Last   string   `graph:"last"`
	Best   int      `graph:"max"`
	Draft  string   `graph:"ephemeral"`
	Stack  []string `graph:"reduce=push"`
}

// push is a custom reducer. It panics on "boom".
func push(old []string, in string) []string {
	if in == "boom" {
		panic("the reducer broke") //nolint:forbidigo // tests want a reducer that breaks
	}
	return append(slices.Clone(old), in)
}

// Doc is what tests send.
type Doc struct {
	Name  string
	Pages []int
}

// NewerDoc is a Doc of a later release.
type NewerDoc struct {
	Title  string `graph:"was=Name"`
	Pages  []int
	Urgent bool
}

// NewerPair is a Pair of a later release, which cannot read what is stored.
type NewerPair struct {
	Foo int8
	Bar []string `graph:"append"`
}

// WiderPair is a Pair of a later release, with a field that the others carry along.
type WiderPair struct {
	Foo  string
	Bar  []string `graph:"append"`
	More []string `graph:"append"`
}

// Part is what a Mixed holds.
//
//graphgen:union Part = *Doc | *Note
type Part interface{ part() }

// Note is a Part.
type Note struct{ Text string }

func (*Doc) part()  {}
func (*Note) part() {}

// Mixed is a state that holds a closed interface.
type Mixed struct {
	Parts []Part `graph:"append"`
}

// NewerPart is a Part of a later release, which has no notes.
//
//graphgen:union NewerPart = *Doc
type NewerPart interface{ part() }

// NewerMixed is a Mixed of a later release.
type NewerMixed struct {
	Parts []NewerPart `graph:"append"`
}

// Fragile is a state whose parts panic on command.
type Fragile struct {
	Log   []string  `graph:"append"`
	Fuse  fuse.Fuse `graph:"last"`
	Stack []string  `graph:"reduce=push"`
}

// Mine is a payload that panics on command.
type Mine struct{ Fuse fuse.Fuse }
