package store

import (
	"errors"
	"fmt"
)

// These errors are returned by every backend, wrapped. Test for them with errors.Is.
var (
	// ErrNotFound is the error of a read of an item that does not exist or has expired.
	ErrNotFound = errors.New("not found")
	// ErrConflict is the error of a conditional write whose condition does not hold. The call
	// stored nothing. A *ConflictError has the details.
	ErrConflict = errors.New("the item has another version")
	// ErrClosed is the error of a call after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrDamaged is the error of a call that found stored bytes other than those that were
	// written.
	ErrDamaged = errors.New("stored data is damaged")
	// ErrUnavailable is the error of a server that could not serve the call, because of a lock, a
	// deadlock or a lost connection. It is unknown whether a write was stored.
	ErrUnavailable = errors.New("the server is unavailable for now")
)

// NotFoundError reports an item that does not exist or has expired. It is an ErrNotFound.
type NotFoundError struct {
	Namespace Namespace
	Key       string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("store: %s: key %q: %s", e.Namespace, e.Key, ErrNotFound)
}

// Is reports whether target is ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// ConflictError reports a write whose condition does not hold. The call, with all other operations
// of its batch, stored nothing. It is an ErrConflict.
type ConflictError struct {
	Namespace Namespace
	Key       string
	Want      int64 // the version that the caller named; 0 for IfAbsent
	Found     int64 // the current version; 0 if the item does not exist
}

func (e *ConflictError) Error() string {
	where := fmt.Sprintf("store: %s: key %q: %s: ", e.Namespace, e.Key, ErrConflict)
	switch {
	case e.Want == 0:
		return where + fmt.Sprintf("it exists already, with version %d", e.Found)
	case e.Found == 0:
		return where + fmt.Sprintf("it does not exist, and the caller expects version %d; read it again", e.Want)
	}
	return where + fmt.Sprintf("%d, and the caller expects %d; read it again", e.Found, e.Want)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// InvalidError reports an argument that no backend accepts. The call stored nothing.
type InvalidError struct {
	Field string // the wrong argument: "namespace", "key", "ttl" ...
	Found string // the argument, or its size
	Want  string // what the argument must be
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("store: %s: %s; want %s", e.Field, e.Found, e.Want)
}

// ValueError reports a stored value that the code cannot read as T, or a value that cannot be
// encoded. Err is a *wire.Error that names the field if the value was stored by another program or
// another release of the type.
type ValueError struct {
	Namespace Namespace
	Key       string
	Err       error
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("store: %s: key %q: %v; the stored value is unchanged", e.Namespace, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }
