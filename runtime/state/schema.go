package state

import (
	"github.com/graphgen-go/graphgen/runtime/internal/live"
	"github.com/graphgen-go/graphgen/shape"
)

// Schema describes a state S and its update U to a graph. graphgen generates one for each state, as a variable named
// after it (StateSchema). A Schema is immutable and safe for concurrent use.
type Schema[S, U any] struct {
	Name        string        // of the state's type
	Fingerprint uint64        // of names, types and reducers: equal fingerprints, equal meaning
	Fields      []shape.Field // in order of declaration
	Types       shape.Types   // that they are made of

	// Clone returns a deep copy, which shares nothing that can be written through. A value that is nested more than
	// wire.MaxDepth levels deep, or is a cycle, is shared; it cannot be encoded either.
	Clone func(S) S
	// Diff returns the fields that differ between two states, in order of declaration, each with its change; nil if the
	// states are equal. Nil and empty differ. Untracked fields are not compared. The result shares memory with both
	// states. It is StateDiffOf for code that does not know the state's type.
	Diff func(before, after S) []FieldChange
	// Writes returns the fields that u changes, each with its operations, in order of declaration; nil if u changes
	// nothing. The result refers to u.
	Writes func(u *U) []FieldChange

	// New returns the empty state of a run. Graphs call it.
	New func(live.Options) live.Live[S, U]
	// AppendUpdate and DecodeUpdate are the codec of pending writes. Untracked fields are left out. DecodeUpdate
	// replaces all of u and keeps no reference to b; its errors are *DecodeError. Those of AppendUpdate are *MergeError,
	// and *OverflowError for a sum that does not fit in its type.
	AppendUpdate func(b []byte, u *U) ([]byte, error)
	DecodeUpdate func(b []byte, u *U) error
}

// Describe returns the state as data, from which tools read what is stored without the state's type. Its fingerprint is the
// schema's. It costs nothing; the result must not be modified.
func (s *Schema[S, U]) Describe() shape.State {
	return shape.State{Name: s.Name, Fields: s.Fields, Types: s.Types}
}
