package cell

import (
	"errors"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

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
	return &state.DecodeError{Field: field, Err: err}
}

// topField returns the wire name of the field that a path starts with: Messages of
// State.Messages[3].ID.
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
