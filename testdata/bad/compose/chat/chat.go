// Package chat ships parts that other packages cannot use.
package chat

// Messages is fine by itself.
type Messages struct {
	Log   []string `graph:"append"`
	Title string   `graph:"last,name=title"`
}

// Hidden has a field that only this package can reach.
type Hidden struct {
	Log  []string `graph:"append"`
	seen bool
}

// Base embeds what only this package can name.
type Base struct{ base }

type base struct {
	Total int `graph:"sum"`
}

// Custom has its own reducers.
type Custom struct {
	Plan  []string       `graph:"reduce=edit"`
	Sum   int            `graph:"reduce=Add"`
	Table map[string]int `graph:"reduce=Missing"`
	Keys  []Item         `graph:"upsert,key=id"`
	State state          `graph:"untracked"`
	Map   map[state]int  `graph:"merge"`
	Fine  string         `graph:"reduce=Join"`
	In    string         `graph:"reduce=With"`
	Word  string         `graph:"lsat"`
}

type state string

// Item has an id.
type Item struct{ ID string }

func edit(old []string, in string) []string { return append(old, in) }

// Add has another type.
func Add(old int64, in int) int64 { return old + int64(in) }

// Join is right.
func Join(old, in string) string { return old + in }

// With takes what only this package can name.
func With(old string, in *state) string { return old + string(*in) }

// Moved has a Migrate that graphgen does not call.
type Moved struct {
	Log []string `graph:"append"`
}

// Migrate moves.
func (*Moved) Migrate() {}

// Own is a state of its own.
//
//graphgen:state
type Own struct {
	Numbers []int `graph:"append"`
}
