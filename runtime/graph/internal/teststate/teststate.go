// Package teststate has the states that the tests of package graph run on.
package teststate

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate/fuse"
)

//go:generate go tool graphgen -type=Pair,Work,Doc,NewerDoc,NewerPair,WiderPair,Fragile,Mine,Before,After,AfterAll,Desk

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

// Desk has Work as a part, which is also a state of its own.
type Desk struct {
	Note string
	Work
	Seen int `graph:"sum"`
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

// WiderPair is a Pair of a later release, with fields that the others carry along.
type WiderPair struct {
	Foo   string
	Bar   []string `graph:"append"`
	More  []string `graph:"append"`
	Parts []Part   `graph:"append"`
}

// NewerPair is a WiderPair of a later release, which cannot read what is stored.
type NewerPair struct {
	Foo   int8
	Bar   []string    `graph:"append"`
	Parts []NewerPart `graph:"append"`
}

// Part is what a WiderPair holds.
//
//graphgen:union Part = *Doc | *Note
type Part interface{ part() }

// Note is a Part.
type Note struct{ Text string }

func (*Doc) part()  {}
func (*Note) part() {}

// NewerPart is a Part of a later release, which has no notes.
//
//graphgen:union NewerPart = *Doc
type NewerPart interface{ part() }

// Fragile is a state whose parts panic on command.
type Fragile struct {
	Log   []string  `graph:"append"`
	Fuse  fuse.Fuse `graph:"last"`
	Stack []string  `graph:"reduce=push"`
}

// Mine is a payload that panics on command.
type Mine struct{ Fuse fuse.Fuse }

// Before has a field of each kind, under names that After has no more.
type Before struct {
	Log   []string          `graph:"append"`
	Docs  []Doc             `graph:"upsert,key=Name"`
	Tags  []string          `graph:"union"`
	Facts map[string]string `graph:"merge"`
	Count int               `graph:"sum"`
	Least int               `graph:"min"`
	All   bool              `graph:"and"`
	Title string
	Draft string   `graph:"ephemeral"`
	Stack []string `graph:"reduce=push"`
	Kept  []string `graph:"append"`
}

// After is a Before of a later release, in which all fields but one have other names.
type After struct {
	Log   []string          `graph:"append,name=log,was=Log"`
	Docs  []Doc             `graph:"upsert,key=Name,name=docs,was=Docs"`
	Tags  []string          `graph:"union,name=tags,was=Tags"`
	Facts map[string]string `graph:"merge,name=facts,was=Facts"`
	Count int               `graph:"sum,name=count,was=Count"`
	Least int               `graph:"min,name=least,was=Least"`
	All   bool              `graph:"and,name=all,was=All"`
	Title string            `graph:"name=title,was=Title"`
	Draft string            `graph:"ephemeral,name=draft,was=Draft"`
	Stack []string          `graph:"reduce=push,name=stack,was=Stack"`
	Kept  []string          `graph:"append"`
}

// AfterAll is an After whose names went back to what they were.
type AfterAll struct {
	Log   []string          `graph:"append,was=log"`
	Docs  []Doc             `graph:"upsert,key=Name,was=docs"`
	Tags  []string          `graph:"union,was=tags"`
	Facts map[string]string `graph:"merge,was=facts"`
	Count int               `graph:"sum,was=count"`
	Least int               `graph:"min,was=least"`
	All   bool              `graph:"and,was=all"`
	Title string            `graph:"was=title"`
	Draft string            `graph:"ephemeral,was=draft"`
	Stack []string          `graph:"reduce=push,was=stack"`
	Kept  []string          `graph:"append"`
}
