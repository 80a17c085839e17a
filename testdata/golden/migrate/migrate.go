// Package migrate has a state that reads what older versions of it stored.
package migrate

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=Old -o old_graphgen.go
//go:generate go tool graphgen -type=New -o new_graphgen.go

// Old is what version 1 stored.
type Old struct {
	Words  string
	Title  string
	Author Author
	Gone   int
}

// Author is nested.
type Author struct{ Name string }

// New is what version 2 stores: Words is a list, Title has another name, and so has a field of
// Author.
type New struct {
	Words  []string `graph:"append"`
	Name   string   `graph:"name=title,was=Title"`
	Author NewAuthor
	Count  int `graph:"sum"`
}

// NewAuthor is Author of version 2.
type NewAuthor struct {
	FullName string `graph:"name=full_name,was=Name"`
}

// Migrate splits the words of version 1.
func (s *New) Migrate(from *state.OldFields) error {
	words, ok := from.String("Words")
	if !ok {
		return fmt.Errorf("migrate: cannot read %q", from.Names())
	}
	s.Words = strings.Fields(words)
	return nil
}
