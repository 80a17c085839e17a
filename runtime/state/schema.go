// Package state is what generated code stands on and what node functions write in updates.
package state

// Schema is all a graph needs to know of a state S and its update U. graphgen emits one for each state,
// as a variable named after it (StateSchema); it is immutable and safe to share.
type Schema[S, U any] struct {
	Name        string  // of the state's type
	Fingerprint uint64  // of names, types and reducers: equal fingerprints, equal meaning
	Fields      []Field // in order of declaration

	// New returns an empty run's state.
	New func(Options) Live[S, U]
	// Clone returns a deep copy: nothing that can be written through is shared. Below wire.MaxDepth levels of
	// nesting it shares; such a value cannot be encoded either.
	Clone func(S) S
	// Equal compares deeply; nil and empty differ.
	Equal func(a, b S) bool
	// Changed returns the Go names of the fields in which a and b differ, in order of declaration; nil when
	// they are equal. Strict runs use it to name the field that a node wrote through.
	Changed func(a, b S) []string
	// AppendUpdate and DecodeUpdate are the codec of pending writes. Untracked fields are left out.
	AppendUpdate func(b []byte, u *U) ([]byte, error)
	DecodeUpdate func(b []byte, u *U) error
}

// Options say how a Live is to behave. The zero Options are right for a run that stores nothing.
type Options struct {
	Record      bool // keep what changes for AppendDelta; without it nothing is encoded by Merge
	DropUnknown bool // Decode accepts the loss of stored nested fields that the code does not have
}

// Field describes one field of a state.
type Field struct {
	Name    string // in Go
	Wire    string // in stored data
	Reducer string // as in the tag; "replace" when it has none
	Type    string // as Go writes it
}

// Live is the state of one run with what must travel beside it: which fields were ever written, key
// indexes, who wrote a replace field in this superstep, unknown fields read from storage. Generated code
// implements it. It is not safe for concurrent use; the run that owns it calls it between supersteps.
type Live[S, U any] interface {
	// View returns the state as a node sees it: by value, its slices clipped so that the node's own append
	// copies. What it refers to is shared and valid until the next Merge, unless Share is called.
	View() S

	// Share tells that the newest View outlives the superstep (a Result, a value event, a subgraph): every list
	// and map is copied once before it is next written in place.
	Share()

	// Merge applies what one task returned. task is its place in the superstep's order. Two tasks that set
	// one replace field are a *ConflictError; an update that cannot be encoded is a *MergeError. After an error the Live
	// must be dropped: part of the update may have been applied. A custom reducer's panic passes through.
	Merge(task int, u *U) error

	// EndStep ends a superstep: it forgets who wrote what and clears ephemeral fields that were set before it.
	EndStep()

	// AppendDelta appends what changed since the last AppendDelta, AppendSnapshot or Decode, and forgets it.
	AppendDelta(b []byte) ([]byte, error)

	// AppendSnapshot appends the whole state, and forgets the changes.
	AppendSnapshot(b []byte) ([]byte, error)

	// Decode replaces everything by what snapshot and the deltas on it say. It keeps none of the byte slices. Errors are
	// *DecodeError.
	Decode(snapshot []byte, deltas ...[]byte) error

	// Sizes returns the bytes of a snapshot if one were made now, and the bytes that deltas since the last snapshot have
	// displaced: what a chain holds in vain. Both are counted while recording.
	Sizes() (live, dead int)
}
