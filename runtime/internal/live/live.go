// Package live is the contract between a graph and generated code: how the state of one run is read, merged, stored and
// restored. Package state has it in its Schema, package cell implements most of it, and package graph calls it.
package live

// Options say how a Live is to behave. The zero Options are right for a run that stores nothing.
type Options struct {
	Record      bool // keep what changes for AppendDelta; without it nothing is encoded by Merge
	DropUnknown bool // Decode accepts the loss of stored nested fields that the code does not have
}

// Live is the state of one run with what must travel beside it: which fields were ever written, key
// indexes, who wrote a replace field in this superstep, unknown fields read from storage. Generated code
// implements it, by embedding a cell.Core. The run that owns it calls it between supersteps, one call at a time; only View may be called
// by several goroutines, while nothing else is called.
//
// A superstep is: View for its tasks, Merge for each of them in task order, EndStep, then AppendDelta or
// AppendSnapshot if it is stored.
type Live[S, U any] interface {
	// View returns the state as a node sees it: by value, its slices clipped so that the node's own append
	// copies. What it refers to is shared and valid until the next Merge or Apply, unless Share is called. It
	// allocates nothing.
	View() S

	// Share tells that the newest View outlives the superstep (a Result, a value event, a subgraph): every list
	// and map is copied once before what the View sees of it is next written in place.
	Share()

	// Load replaces everything by s, as if a run had come to it: fields of s that are not zero count as written. It
	// shares what s refers to, and never writes there. It is not recorded as a change; AppendSnapshot stores it.
	Load(s S)

	// Merge applies what one task returned. task is its place in the superstep's order. Two tasks that set
	// one replace field are a *ConflictError; a sum that does not fit in its field's type is an *OverflowError; an update
	// that cannot be encoded is a *MergeError. After an error the Live
	// must be dropped: part of the update may have been applied. A custom reducer's panic passes through. Merge keeps no
	// reference to u, but shares what its values refer to.
	Merge(task int, u *U) error

	// Inner says whether what Merge is given from here on is what a subgraph has merged before: what that does to
	// ephemeral fields is left out, since they have faded there.
	Inner(inner bool)

	// EndStep ends a superstep: it forgets who wrote what and clears ephemeral fields that were set before it. It
	// comes before the AppendDelta or AppendSnapshot of the superstep, which then has the clearing in it.
	// For an edit that is no superstep it is not called; AppendDelta and AppendSnapshot forget who wrote what, too.
	EndStep()

	// AppendDelta appends what changed since the last AppendDelta, AppendSnapshot, Decode or Apply, and forgets it. When
	// nothing changed it appends a delta that says so. It is an error without Options.Record.
	AppendDelta(b []byte) ([]byte, error)

	// AppendSnapshot appends the whole state, and forgets the changes. Equal states are equal bytes. A value that cannot
	// be encoded is a *MergeError.
	AppendSnapshot(b []byte) ([]byte, error)

	// Decode replaces everything by what snapshot says. Strings of the state share the memory of snapshot,
	// which must never be modified after the call. Errors are *DecodeError; after one the Live must be
	// dropped.
	Decode(snapshot []byte) error

	// Apply applies a delta to what Decode and earlier Apply calls read. It runs no reducer. Strings of the
	// state share the memory of the delta, which must never be modified after the call. What they keep of
	// superseded values is bounded: a chain starts over with a snapshot when that is more than the state.
	// Errors are *DecodeError; after one the Live must be dropped. Where the chain was written under another
	// fingerprint, checkpoint.Fold and one Decode cost less than many Apply calls.
	Apply(delta []byte) error

	// Sizes returns the bytes of a snapshot if one were made now, and the bytes of values that deltas since the last
	// snapshot have displaced: what a chain holds in vain. Both are counted while recording, and are 0 otherwise.
	Sizes() (live, dead int)

	// Clone returns a copy of this Live, with the same Options. A write to what one of them shows does not reach the other,
	// except in the values of untracked fields. The state is copied in memory: nothing is encoded or measured. This Live must
	// not be changed while the clone is in use.
	Clone() Live[S, U]

	// DropUntracked makes untracked fields zero, as they are after Decode.
	DropUntracked()

	// Fork returns a Live that continues from what this one holds, independently of it: a subgraph works on one. What both
	// have is shared until either writes it, so forking costs nothing for what is not written; while recording it is
	// measured once. This Live must not be written while the fork is in use; several forks of it may be used
	// concurrently. Ephemeral fields count as set in the superstep before: the fork's next one sees them.
	Fork(opts Options) Live[S, U]
}
