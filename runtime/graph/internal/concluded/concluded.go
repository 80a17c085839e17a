// Package concluded decides whether the work that a caller waits for has ended.
//
// Invariants:
//   - The package does no I/O, and knows neither states nor graphs.
//   - The decision depends only on the fields of Facts.
//   - Work that has ended stays ended: nothing that begins later changes the decision.
package concluded

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// Facts is what one look at a thread has found.
type Facts struct {
	Queued bool // the input that the caller waits for has not begun
	Passed bool // a later input has begun, or the version of the work is released

	Status checkpoint.Status // of the thread
	Wake   bool              // the thread is due, now or later
	Now    bool              // the thread is due now, or a message has come for which a task waits

	UntilWaiting bool // the caller does not wait for people, signals and times
}

// Ended reports whether the work has ended, so that the caller can read the result.
func (f *Facts) Ended() bool {
	if f.Passed {
		return true
	}
	switch f.Status {
	case checkpoint.Done, checkpoint.Cancelled:
		return !f.Queued
	case checkpoint.Failed:
		return !f.Wake // no input begins on it, and nobody repeats the run
	case checkpoint.Waiting, checkpoint.Paused:
		return f.UntilWaiting && !f.Now
	}
	return false
}
