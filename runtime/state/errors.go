package state

import "fmt"

// ConflictError reports that two tasks of one superstep wrote a field that only one of them may
// write. Either both set a field without a reducer, or one replaced or cleared a field that the
// other changed.
type ConflictError struct {
	Field string // the Go name
	Tasks [2]int // positions in the order of the superstep
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("state: tasks %d and %d of one superstep both wrote field %s, and only one value can be kept; "+
		"let one node write it, or give it a reducer that chooses, such as last", e.Tasks[0], e.Tasks[1], e.Field)
}

// OverflowError reports a sum that does not fit in the type of its field. The field keeps its
// value.
type OverflowError struct {
	Field string // the Go name
	Type  string // the type of the field
	Task  int    // position in the superstep of the task whose update was merged
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("state: the sum in field %s does not fit in its type %s; give the field a wider type, or add a smaller amount", e.Field, e.Type)
}

// MergeError reports a field whose value cannot be encoded.
type MergeError struct {
	Field string // the Go name
	Err   error
}

func (e *MergeError) Error() string {
	return fmt.Sprintf("state: field %s has a value that cannot be stored: %v", e.Field, e.Err)
}

// Unwrap returns the error of the value's codec.
func (e *MergeError) Unwrap() error { return e.Err }

// DecodeError reports stored data that does not match the types of the code. It wraps a
// *wire.Error with the details.
type DecodeError struct {
	Field string // the Go name; empty if the error concerns no single field
	Err   error
}

func (e *DecodeError) Error() string { return "state: stored data: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// RenameError reports a field that is stored under a name that the code does not know, or under
// two of its names. Programs in which a field has different names cannot share a thread. While
// both programs run, keep the stored name of the field by name= in its tag.
type RenameError struct {
	Field    string // the Go name
	Was, Now string // wire names
	Both     bool   // the field is stored under both names
}

func (e *RenameError) Error() string {
	if e.Both {
		return fmt.Sprintf("field %s is stored under two of its names, %q and %q, and it is unknown which is newer; continue the thread from an older checkpoint", e.Field, e.Was, e.Now)
	}
	return fmt.Sprintf("field %s has the name %q in this program, but another program stored it as %q; use the other program", e.Field, e.Was, e.Now)
}
