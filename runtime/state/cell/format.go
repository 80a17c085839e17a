package cell

import (
	"strings"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// Changes returns the changes in all that are not zero, in the same order, or nil if there are
// none. It reuses the memory of all, so the caller must not use all after the call.
func Changes(all ...state.FieldChange) []state.FieldChange {
	var changes []state.FieldChange
	for _, c := range all {
		if !c.Change.IsZero() {
			if changes == nil {
				changes = all[:0]
			}
			changes = append(changes, c)
		}
	}
	return changes
}

// FormatUpdate prints an update by what it changes, for the String methods of generated code:
// StateUpdate{Status: set answered, Tokens: add 42}.
func FormatUpdate(name string, changes ...state.FieldChange) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte('{')
	for i, c := range Changes(changes...) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Field + ": " + c.Change.String())
	}
	b.WriteByte('}')
	return b.String()
}

// FormatDiff prints the difference between two states, one line for each field, for the String
// methods of generated code. Line breaks in values are written as \n.
func FormatDiff(changes []state.FieldChange) string {
	var b strings.Builder
	for i, c := range changes {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.Field + ": " + strings.ReplaceAll(c.Change.String(), "\n", `\n`))
	}
	return b.String()
}
