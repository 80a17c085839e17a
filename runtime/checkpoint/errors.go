package checkpoint

import (
	"errors"
	"fmt"
	"time"
)

// Errors that every saver returns, wrapped; test with errors.Is.
var (
	// ErrConflict: a write that builds on what is no longer so, or on a thread that another run holds. Nothing was stored. A
	// *ConflictError or *BusyError says what stood against it.
	ErrConflict = errors.New("the thread has moved on")
	// ErrNotFound: a thread, version or checkpoint that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrClosed: a call after Close.
	ErrClosed = errors.New("the saver is closed")
	// ErrDamaged: stored bytes that are not what was stored. What they belong to is neither read nor changed.
	ErrDamaged = errors.New("stored data is damaged")
	// ErrUnavailable: the server could not serve the call for now, because of a lock that was held too long, a deadlock or
	// a lost connection. Whether a write was stored is unknown; the same call may be made again.
	ErrUnavailable = errors.New("the server is unavailable for now")
)

// ConflictError is a refused write: nothing was stored. It is ErrConflict.
type ConflictError struct {
	Thread    string
	Namespace string
	Want      ID     // the head or fence that the caller named
	Found     ID     // the one that stands; zero for none
	Reason    string // what stood against it: "head", "fence", "released", or "exists" for an id or thread that is there already
}

func (e *ConflictError) Error() string {
	where := fmt.Sprintf("thread %q", e.Thread)
	if e.Namespace != "" {
		where += fmt.Sprintf(", namespace %q", e.Namespace)
	}
	switch e.Reason {
	case "fence":
		return fmt.Sprintf("checkpoint: %s: %s: the run that holds it opened with %s, not %s; open a run of your own", where, ErrConflict, e.Found, e.Want)
	case "released":
		return fmt.Sprintf("checkpoint: %s: %s: its version was released; a new run starts an empty one", where, ErrConflict)
	case "exists":
		if e.Want.IsZero() { // nothing was to stand there
			return fmt.Sprintf("checkpoint: %s: %s: it has an open version, whose head is %s; release or delete that first, or go on with it", where, ErrConflict, e.Found)
		}
		return fmt.Sprintf("checkpoint: %s: %s: %s stands already; load the thread again", where, ErrConflict, e.Found)
	}
	return fmt.Sprintf("checkpoint: %s: %s: the %s is %s, not %s; load it again", where, ErrConflict, e.Reason, e.Found, e.Want)
}

// Is makes a ConflictError an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// BusyError says that another run holds the thread. Nothing was stored. It is ErrConflict.
type BusyError struct {
	Thread  string
	Holder  string
	Until   time.Time // when the lease ends unless renewed, on the saver's clock; zero when only its process knows
	Request string    // the caller's request id, if that run executes this very request; set by package graph, not by savers
}

func (e *BusyError) Error() string {
	until := "until that process ends its run"
	if !e.Until.IsZero() {
		until = "until " + e.Until.UTC().Format(time.RFC3339)
	}
	what := "is being run"
	if e.Request != "" {
		what = fmt.Sprintf("is executing this very request, %q, run", e.Request)
	}
	return fmt.Sprintf("checkpoint: thread %q %s by %q %s; pass graph.Wait to wait for it, or graph.TakeOver to take it over", e.Thread, what, e.Holder, until)
}

// Is makes a BusyError an ErrConflict.
func (e *BusyError) Is(target error) bool { return target == ErrConflict }

// InvalidError is a request that no saver accepts. Nothing was stored.
type InvalidError struct {
	Field string // what was wrong: "thread", "namespace", "records" ...
	Found string
	Want  string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("checkpoint: %s: %s; want %s", e.Field, e.Found, e.Want)
}
