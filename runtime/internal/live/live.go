// Package live is the contract between a graph and generated code: how the state of one run is
// read, merged, stored and restored. A Schema of package state creates a Live, package cell
// implements most of it, and package graph calls it.
package live

// Options configure a Live. The zero Options are for a run that stores nothing.
type Options struct {
	Record      bool // record changes for AppendDelta; without it and Check, Merge encodes nothing
	Check       bool // check that the methods that store a value give it back, also without Record
	DropUnknown bool // Decode accepts the loss of stored nested fields that the code does not have
}

// Live is the state of one run. It also has the data that belongs to the state: which fields were
// ever written, indexes of keys, and unknown fields of the stored state. It knows the tasks that
// wrote each field in this superstep. Generated code implements Live by embedding a cell.Core. Its
// run calls it between supersteps. Calls must not be concurrent, except that of View with View.
//
// In each superstep a run calls View for its tasks, Merge for each task in task order, and
// EndStep. If the superstep is stored, it then calls AppendDelta or AppendSnapshot.
type Live[S, U any] interface {
	// View returns the state for a node, by value. Its slices are clipped, so that an append by
	// the node copies them. Other memory is shared and valid until the next Merge or Apply, unless
	// Share is called. View allocates nothing.
	View() S

	// Share declares that the last View outlives the superstep, for example in a Result, a value
	// event or a subgraph. Every list and map is then copied once before the next write in place.
	Share()

	// Load replaces the state by s. Fields of s that are not zero count as written. Load shares
	// the memory of s and never writes to it. It records no change; AppendSnapshot stores the
	// state.
	Load(s S)

	// Merge applies the update of one task. task is the position in the order of the superstep.
	// Merge returns a *ConflictError if two tasks wrote a field that one task may write, an
	// *OverflowError if a sum does not fit in its field, and a *MergeError if a value cannot be
	// stored. The state gets the decoded form of each value: times are in UTC. After an error the
	// Live must be dropped, because a part of the update may be applied. Merge does not recover
	// the panic of a custom reducer. It keeps no reference to u, but shares the memory of its
	// values.
	Merge(task int, u *U) error

	// NewInput clears the fields with the option run. A run calls it before it merges its input,
	// in the same superstep. The next AppendDelta includes the clearing.
	NewInput()

	// Inner sets whether the next updates come from a subgraph, which has merged them before.
	// Merge then leaves out their effects on ephemeral fields, because the subgraph has cleared
	// these.
	Inner(inner bool)

	// EndStep ends a superstep: it forgets which task wrote which field, and clears ephemeral
	// fields that were set before the superstep. The AppendDelta or AppendSnapshot of the
	// superstep follows it and so includes the clearing. For an edit, which is not a superstep, it
	// must not be called. AppendDelta and AppendSnapshot also forget the writers.
	EndStep()

	// EndEdit ends an edit whose change is stored together with that of the next superstep. It
	// forgets which task wrote which field, and lets ephemeral fields last until the end of that
	// superstep. It keeps the changes for AppendDelta.
	EndEdit()

	// AppendDelta appends the changes since the last AppendDelta, AppendSnapshot, Decode or Apply.
	// If there are none, it appends an empty delta. It returns an error without Options.Record.
	AppendDelta(b []byte) ([]byte, error)

	// AppendSnapshot appends the whole state and forgets the changes. Equal states are equal
	// bytes. It returns a *MergeError if a value cannot be encoded.
	AppendSnapshot(b []byte) ([]byte, error)

	// Decode replaces the state by snapshot. Strings of the state share the memory of snapshot, so
	// snapshot must never be modified after the call. After an error, which is a *DecodeError, the
	// Live must be dropped.
	Decode(snapshot []byte) error

	// Apply applies a delta to the state. It runs no reducer. Strings of the state share the
	// memory of the delta, so the delta must never be modified after the call. The memory of
	// superseded values is bounded, because a chain begins again with a snapshot when it exceeds
	// the state. After an error, which is a *DecodeError, the Live must be dropped. If the chain
	// has another fingerprint, checkpoint.Fold and one Decode cost less than many calls of Apply.
	Apply(delta []byte) error

	// Sizes returns the size of a snapshot of the current state, and the total size of values that
	// deltas have displaced since the last snapshot. Both are 0 without Options.Record.
	Sizes() (live, dead int)

	// Clone returns a copy of this Live with the same Options. Writes to one do not change the
	// other, except in the values of untracked fields. Clone copies in memory and encodes nothing.
	// This Live must not be changed while the clone is in use.
	Clone() Live[S, U]

	// DropUntracked makes untracked fields zero, as they are after Decode.
	DropUntracked()

	// Fork returns a Live that continues independently from the state of this one, for a subgraph.
	// The two share memory until one of them writes it, so unchanged fields cost nothing. With
	// Options.Record the state is measured once. This Live must not be written while the fork is
	// in use. Several forks may be used concurrently. Ephemeral fields count as set in the
	// superstep before, so the next superstep of the fork sees them.
	Fork(opts Options) Live[S, U]
}
