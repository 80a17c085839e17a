package state

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

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

// errNotRecording is the error of AppendDelta on a Live that was made without Options.Record.
var errNotRecording = errors.New("state: this Live keeps no changes; make it with Options{Record: true}")

// Causes of a DecodeError, in a *wire.Error.
var (
	errTwice    = errors.New("the same field a second time")
	errUpdateOp = errors.New("no operation that this field's reducer has; the update was made by other code")
	errOdd      = errors.New("an operation without an operand")
)

// decodeError returns what r says was wrong as a *DecodeError, or nil.
func decodeError(field string, err error) error {
	if err == nil {
		return nil
	}
	return &DecodeError{Field: field, Err: err}
}

// topField returns the wire name of the field that a path starts with: Messages of State.Messages[3].ID.
func topField(err error) string {
	var at *wire.Error
	if !errors.As(err, &at) {
		return ""
	}
	_, name, _ := strings.Cut(at.Path, ".")
	if end := strings.IndexAny(name, ".["); end >= 0 {
		name = name[:end]
	}
	return name
}
