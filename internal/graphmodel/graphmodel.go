// Package graphmodel makes random graphs, and says what the outcome of each run must be.
//
// A [Spec] is a graph drawn by a seed. [Spec.Build] makes it a graph.Graph. The seed and the
// state determine the updates of its nodes; the Spec says which ones fail and ask. A [World]
// records what the nodes did. A [Model] is the same graph on an interpreter of the rules that
// shares nothing with package graph: plain, slow, one task at a time. [Pair] runs both on the
// same calls and compares them. [Storm] runs a graph while processes die and calls of the saver
// fail, and compares what is stored at the end with the Model.
//
// It is for tests: of the runtime, and of every saver under it.
//
// # Rules and words
//
// The rules are those of docs/rules.md. Code cites the number of the rule that it implements or
// checks, as in "rule 5.2". A test of this package fails if a rule is neither cited here nor
// proved by a named test elsewhere.
//
// The words are those of the glossary there. This package adds four. A machine is the interpreter
// of one graph: that of the thread, or of one call of a subgraph. A change is one operation on one
// field. A target is one thing that a choice names. The fate of a graph is what its nodes and
// routes did so far, as far as it decides what they do next.
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
	Turn  []string `graph:"append,run"`
	Peak  int64    `graph:"max,run"`
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

// Text writes a state down, so that equal states are equal texts. An empty list and none are the
// same.
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
