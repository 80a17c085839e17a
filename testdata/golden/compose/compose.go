// Package compose has a state whose fields are those of the structs that it embeds.
package compose

import (
	"fmt"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/testdata/golden/compose/chat"
	"github.com/graphgen-go/graphgen/testdata/golden/generics/opt"
)

//go:generate go tool graphgen -type=State,Flat,Half

// State has parts of this package and of another one, generic and unexported ones.
type State struct {
	Done bool
	chat.Messages
	Usage
	Bag[string]
	notes
	Plain
	chat.Draft `graph:"last"`
	opt.Of[int]
	Last *Usage
}

// Usage is a part. A nested value of it is one value.
type Usage struct {
	Tokens int64   `graph:"sum"`
	Calls  []Call  `graph:"append"` // the calls of tools
	Scores [2]Bool // replaced: a part can have fields without tags
}

// Call is a call of a tool.
type Call struct{ Tool string }

// Bool is a named bool.
type Bool bool

// Bag is a generic part.
type Bag[T comparable] struct {
	Items []T `graph:"union,name=bag"`
}

type notes struct {
	note  string `graph:"first"`
	count int    `graph:"max"`
}

// Plain has no reducers, so that it is one field.
type Plain struct{ Lines []string }

// Flat has the fields of State, declared one by one.
type Flat struct {
	Done     bool
	Messages []chat.Message    `graph:"upsert,key=ID"`
	Cursor   chat.Cursor       `graph:"max,name=cursor,was=pos"`
	Topics   []string          `graph:"reduce=AddTopic"`
	Unread   *chat.Window      `graph:"untracked"`
	Title    string            `graph:"last,name=title"`
	Props    map[string]string `graph:"merge"`
	Tokens   int64             `graph:"sum"`
	Calls    []Call            `graph:"append"`
	Scores   [2]Bool
	Items    []string `graph:"union,name=bag"`
	note     string   `graph:"first"`
	count    int      `graph:"max"`
	Plain    Plain
	Draft    chat.Draft `graph:"last"`
	Of       opt.Of[int]
	Last     *Usage
}

// Half has fewer fields than State, in other parts.
type Half struct {
	Usage
	Done bool
}

// AddTopic appends a topic.
func AddTopic(old []string, in string) []string { return chat.AddTopic(old, in) }

// Migrate reads the calls of version 1, which stored only their number. The Migrate of chat reads
// the calls of chat.
func (s *State) Migrate(from *state.OldFields) error {
	n, ok := from.Int("Calls")
	if !ok || len(from.Names()) != 1 {
		return fmt.Errorf("compose: cannot migrate %q", from.Names())
	}
	for i := range n {
		s.Calls = append(s.Calls, Call{Tool: strconv.FormatInt(i, 10)})
	}
	return nil
}
