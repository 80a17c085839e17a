package checkpoint

import (
	"errors"
	"fmt"
	"time"
)

// These errors are returned by every saver, wrapped. Test for them with errors.Is.
var (
	// ErrConflict is the error of a write on a thread that has changed, or that another run holds.
	// The write stored nothing. A *ConflictError or *BusyError has the details.
	ErrConflict = errors.New("the thread has moved on")
	// ErrNotFound is the error of a call for a thread, version or checkpoint that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrClosed is the error of a call after Close.
	ErrClosed = errors.New("the saver is closed")
	// ErrDamaged is the error of a call that found stored bytes other than those that were
	// written. The call neither returns nor changes the damaged data.
	ErrDamaged = errors.New("stored data is damaged")
	// ErrReadOnly is the error of a call that writes, of a saver that was opened for reading. The
	// call stored nothing.
	ErrReadOnly = errors.New("the saver is open for reading only; open it for writing to change threads")
	// ErrUnavailable is the error of a server that could not serve the call, because of a lock, a
	// deadlock or a lost connection. It is unknown whether a write was stored. The caller may
	// repeat the call.
	ErrUnavailable = errors.New("the server is unavailable for now")
	// ErrPartial is the error of a call for many threads if a part of the storage did not answer.
	// The result lacks the threads of that part, and is complete for all others. Only Threads,
	// Ready and News of a saver with several storages return it.
	ErrPartial = errors.New("a part of the storage did not answer; the rest is complete")
	// ErrTooLarge is the error of a call with a value that the storage never stores, because of
	// its size. The call stored nothing, and fails each time. A *SizeError has the details.
	ErrTooLarge = errors.New("too large for the storage")
)

// ConflictError reports a refused write, which stored nothing. It is an ErrConflict.
type ConflictError struct {
	Thread    string
	Namespace string
	Want      ID // the head or fence that the caller named
	Found     ID // the current one; zero for none
	// Reason is the cause: "head", "fence", "released", "mail" for other messages, "birth" for
	// another thread with the id, or "exists" for an id or thread that exists.
	Reason string
}

func (e *ConflictError) Error() string {
	where := fmt.Sprintf("thread %q", e.Thread)
	if e.Namespace != "" {
		where += fmt.Sprintf(", namespace %q", e.Namespace)
	}
	switch e.Reason {
	case "fence":
		return fmt.Sprintf("checkpoint: %s: %s: the run that holds it opened with %s, not %s; open a run of your own", where, ErrConflict, e.Found, e.Want)
	case "mail":
		return fmt.Sprintf("checkpoint: %s: %s: its messages have changed; read them again", where, ErrConflict)
	case "birth":
		return fmt.Sprintf("checkpoint: %s: %s: it was deleted since it was read; read it again", where, ErrConflict)
	case "released":
		return fmt.Sprintf("checkpoint: %s: %s: its version was released; a new run starts an empty one", where, ErrConflict)
	case "exists":
		if e.Want.IsZero() { // the thread must not exist
			return fmt.Sprintf("checkpoint: %s: %s: it has an open version, whose head is %s; release or delete it first, or continue from it", where, ErrConflict, e.Found)
		}
		return fmt.Sprintf("checkpoint: %s: %s: %s exists already; load the thread again", where, ErrConflict, e.Found)
	}
	return fmt.Sprintf("checkpoint: %s: %s: the %s is %s, not %s; load it again", where, ErrConflict, e.Reason, e.Found, e.Want)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// BusyError reports that another run holds the thread. The call stored nothing. It is an
// ErrConflict.
type BusyError struct {
	Thread  string
	Holder  string
	Until   time.Time // when the lease ends unless it is renewed, on the saver's clock; zero if the saver does not know
	Request string    // the request id of the caller, if the other run has the same; set by package graph, not by savers
}

func (e *BusyError) Error() string {
	until := "until that process ends its run"
	if !e.Until.IsZero() {
		until = "until " + e.Until.UTC().Format(time.RFC3339)
	}
	what := "is run"
	if e.Request != "" {
		what = fmt.Sprintf("has a run with the same request id, %q, started", e.Request)
	}
	return fmt.Sprintf("checkpoint: thread %q %s by %q %s; repeat the call when that run has ended", e.Thread, what, e.Holder, until)
}

// Is reports whether target is ErrConflict.
func (e *BusyError) Is(target error) bool { return target == ErrConflict }

// SizeError reports a value that the storage refuses because of its size. The call stored nothing.
// It is an ErrTooLarge.
type SizeError struct {
	Size    int    // bytes of the largest value of the call
	Limit   int64  // the greatest number of bytes that the storage takes; 0 if the saver does not know
	Setting string // what sets the limit, such as "max_allowed_packet of the server"; empty if the saver does not know
	Err     error  // the error of the storage; nil if there is none
}

func (e *SizeError) Error() string {
	text := fmt.Sprintf("%d bytes are %s", e.Size, ErrTooLarge)
	if e.Limit > 0 {
		text += fmt.Sprintf(", which takes at most %d bytes (%s)", e.Limit, e.Setting)
	}
	text += "; raise the limit, or store large data elsewhere and its name in the state"
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is reports whether target is ErrTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

// Unwrap returns the error of the storage.
func (e *SizeError) Unwrap() error { return e.Err }

// InvalidError reports an argument that no saver accepts. The call stored nothing.
type InvalidError struct {
	Field string // what was wrong: "thread", "namespace", "records" ...
	Found string
	Want  string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("checkpoint: %s: %s; want %s", e.Field, e.Found, e.Want)
}
