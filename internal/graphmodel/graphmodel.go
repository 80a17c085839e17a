// Package graphmodel makes random graphs, and says what a run of each must come to.
//
// A [Spec] is a graph drawn by a seed. [Spec.Build] makes it a graph.Graph, whose nodes do what the seed and the state
// they see tell them to, fail and ask as the Spec says, and take down in a [World] what they did. A [Model] is the same
// graph on an interpreter of the rules that knows nothing of package graph: plain, slow, one task at a time. [Pair] runs
// both side by side and compares.
//
// It is for tests: of the runtime, and of every saver under it.
package graphmodel

import (
	"fmt"
	"hash/fnv"
	"slices"
)

//go:generate go tool graphgen -type=State,Item,Job

// State has a field for each way in which a superstep can merge.
type State struct {
	Log   []string          `graph:"append"` // each task: its name and a hash of what it saw
	Count int64             `graph:"sum"`    // bounds the loops
	Last  string            `graph:"last"`
	First string            `graph:"first"`
	Best  int64             `graph:"max"`
	Low   int64             `graph:"min"`
	Any   bool              `graph:"or"`
	Facts map[string]string `graph:"merge"`
	Tags  []string          `graph:"union"`
	Items []Item            `graph:"upsert,key=ID"`
	Draft string            `graph:"ephemeral"`
	Text  string
	Notes []string `graph:"append"`
	Stack []string `graph:"reduce=push"`
}

// Item is an element of a keyed list.
type Item struct {
	ID    string
	Value int64
}

// Job is what is sent.
type Job struct {
	Name  string
	Depth int
}

// boom is what push panics on.
const boom = "boom"

// push is a custom reducer. It breaks on boom.
func push(old []string, in string) []string {
	if in == boom {
		panic("the reducer broke") //nolint:forbidigo // tests want a reducer that breaks
	}
	return append(slices.Clone(old), in)
}

// Text writes a state down, so that equal states are equal texts. An empty list and none are the same.
func Text(s State) string {
	return fmt.Sprintf("%+v", s)
}

// hash mixes its arguments into a number.
func hash(parts ...any) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%v\x00", p) // a hash takes everything
	}
	return h.Sum64()
}
