// Package runs has a state whose fields the next input clears.
package runs

import "slices"

//go:generate go tool graphgen -type=State

// State has the option run with every reducer, and one field that lasts.
type State struct {
	Set   string         `graph:"run"`
	Last  string         `graph:"last,run"`
	First string         `graph:"run,first"`
	Log   []string       `graph:"append,run,name=log,was=lines"`
	Items []Item         `graph:"upsert,key=ID,run"`
	Tags  []string       `graph:"union,run"`
	Facts map[string]int `graph:"merge,run"` // what the run found
	Sum   int            `graph:"sum,run"`
	Min   int            `graph:"min,run"`
	Max   int            `graph:"max,run"`
	And   bool           `graph:"and,run"`
	Or    bool           `graph:"or,run"`
	Stack []string       `graph:"reduce=push,run"`
	Kept  []string       `graph:"append"`
}

// Item is an element with a key.
type Item struct{ ID string }

func push(old []string, in string) []string { return append(slices.Clip(old), in) }
