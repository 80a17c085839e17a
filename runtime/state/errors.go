package state

import "fmt"

// ConflictError says that two tasks of one superstep wrote what only one of them may: both set a field that
// is replaced, or one replaced or cleared a list or map that the other changed too.
type ConflictError struct {
	Field string // in Go
	Tasks [2]int // places in the superstep's order
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("state: tasks %d and %d of one superstep both wrote field %s, and only one of two values can stay; "+
		"let one node write it, or give it a reducer that says which stays, such as last", e.Tasks[0], e.Tasks[1], e.Field)
}

// OverflowError says that a sum does not fit in the type of its field. The field stays what it was.
type OverflowError struct {
	Field string // in Go
	Type  string // of the field
	Task  int    // place in the superstep's order of the task whose update was merged
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("state: the sum in field %s does not fit in its type %s; give the field a wider type, or add less", e.Field, e.Type)
}

// MergeError says that a field has a value that cannot be encoded.
type MergeError struct {
	Field string // in Go
	Err   error
}

func (e *MergeError) Error() string {
	return fmt.Sprintf("state: field %s has a value that cannot be stored: %v", e.Field, e.Err)
}

// Unwrap returns what the value's codec said.
func (e *MergeError) Unwrap() error { return e.Err }

// DecodeError says that stored data is not what the code's types want. What is wrong with the data is a
// *wire.Error in it.
type DecodeError struct {
	Field string // in Go; empty when it is no one field
	Err   error
}

func (e *DecodeError) Error() string { return "state: stored data: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// RenameError says that a stored state has a field under another name than the code can make sense of: only under one that it
// got later, or under two of its names. Programs in which a field has different names cannot share a thread; leave it its name
// in stored data (name=) as long as both run.
type RenameError struct {
	Field    string // in Go
	Was, Now string // wire names
	Both     bool   // it is stored under both
}

func (e *RenameError) Error() string {
	if e.Both {
		return fmt.Sprintf("field %s is stored under two of its names, %q and %q, and which is newer is not known", e.Field, e.Was, e.Now)
	}
	return fmt.Sprintf("field %s is %q here, and was stored as %q by a program in which it has that name; use that program", e.Field, e.Was, e.Now)
}
