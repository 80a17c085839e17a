package state

import (
	"github.com/graphgen-go/graphgen/runtime/internal/live"
	"github.com/graphgen-go/graphgen/shape"
)

// Schema describes a state S and its update U to a graph. graphgen generates one for each state,
// in a variable that is named after the state (StateSchema). A Schema is immutable and safe for
// concurrent use.
type Schema[S, U any] struct {
	Name        string        // the name of the state's type
	Fingerprint uint64        // hash of names, types and reducers; schemas with equal fingerprints are equivalent
	Fields      []shape.Field // in order of declaration
	Types       shape.Types   // the types of the fields

	// Clone returns a deep copy, which shares no memory that can be written. A value that is
	// nested more than wire.MaxDepth levels deep, or is a cycle, is shared. Such a value cannot be
	// encoded either.
	Clone func(S) S
	// Diff returns the fields that differ between two states, in order of declaration, each with
	// its change. It returns nil if the states are equal. Nil and empty differ. Untracked fields
	// are not compared. The result shares memory with both states. Diff does the same as the
	// generated function StateDiffOf, for code that does not know the type of the state.
	Diff func(before, after S) []FieldChange
	// Writes returns the fields that u changes, in order of declaration, each with its operations.
	// It returns nil if u changes nothing. The result refers to u.
	Writes func(u *U) []FieldChange

	// New returns the empty state of a run. Graphs call New.
	New func(live.Options) live.Live[S, U]
	// AppendUpdate and DecodeUpdate are the codec of updates, which are stored as results of
	// tasks. They omit untracked fields. AppendUpdate returns a *MergeError, or an *OverflowError
	// for a sum that does not fit in its type. DecodeUpdate replaces all of u and keeps no
	// reference to b. It returns a *DecodeError.
	AppendUpdate func(b []byte, u *U) ([]byte, error)
	DecodeUpdate func(b []byte, u *U) error
}

// Describe returns a description of the state, with which tools read stored states without the Go
// type. The fingerprint in it is the schema's. The call is cheap. The caller must not modify the
// result.
func (s *Schema[S, U]) Describe() shape.State {
	return shape.State{Name: s.Name, Fields: s.Fields, Types: s.Types}
}
