// Package ending decides whether a run ends and how: with which status, and when its thread is due
// again.
//
// Invariants:
//   - The package does no I/O, and knows neither states nor graphs.
//   - The first reason that applies decides the status.
//   - A thread that waits for nothing and on which a person has to decide is never due.
package ending

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// Reasons are the reasons for which a run can end. The first that applies decides the status of
// the thread.
type Reasons struct {
	Done        bool // nothing is due
	Stop        bool // a static stop holds the run
	Failed      bool // an error other than the end of the context
	Interrupted bool // tasks are due that need no person, but the run ends: its context ended, a drain, a left stream
	Cancelled   bool // Interrupted, because somebody cancelled the thread
	Asks        bool // a task waits for an answer
	StopInside  bool // a static stop holds a subgraph call
}

// Status returns the status of a thread whose run ends for these reasons. It returns zero if the
// run continues.
func (r Reasons) Status() checkpoint.Status {
	switch {
	case r.Done:
		return checkpoint.Done
	case r.Stop:
		return checkpoint.Paused
	case r.Failed:
		return checkpoint.Failed
	case r.Interrupted && r.Cancelled:
		return checkpoint.Cancelled
	case r.Interrupted:
		return checkpoint.Ready
	case r.Asks:
		return checkpoint.Waiting
	case r.StopInside:
		return checkpoint.Paused
	}
	return 0
}

// Rest is a thread after its run.
type Rest struct {
	Status   checkpoint.Status // with which the run ends
	Inputs   journal.Inputs    // that wait; none for a subgraph call
	Signal   bool              // Waiting: a signal waits that a task can receive
	Next     time.Time         // Waiting: when a task can run without an answer; zero for never
	Continue bool              // Ready: the run was interrupted by a drain, or is that of a worker
	Deadline time.Time         // of its run line; zero for none
}

// Idle is a run in which nothing can run before an answer, a signal or a time (rule 22.5).
type Idle struct {
	Signal   bool          // a signal waits that a task can receive
	Next     time.Time     // when a task can run without an answer; zero for never
	Open     bool          // a question or a receive is open, for which somebody must be able to open the thread
	Lease    time.Duration // the longest time for which a run waits
	Draining bool
}

// Rest reports whether the run continues in memory instead of ending, and until when it waits
// before that; zero for not at all.
func (i *Idle) Rest(now time.Time) (until time.Time, ok bool) {
	switch wait := i.Next.Sub(now); {
	case i.Draining, !i.Signal && i.Next.IsZero():
		return time.Time{}, false
	case i.Signal, wait <= 0:
		return time.Time{}, true
	case i.Open, wait > i.Lease:
		return time.Time{}, false
	}
	return i.Next, true
}

// Now is the time at which a thread is due that is due immediately: the past, on every clock.
func Now() time.Time { return time.Unix(1, 0) }

// Begins reports whether an input that waits begins after the run.
func (r *Rest) Begins() bool {
	switch r.Inputs {
	case journal.DiscardingInputs:
		return true
	case journal.QueuedInputs:
		return r.Status == checkpoint.Done || r.Status == checkpoint.Cancelled
	}
	return false
}

// Wake returns when the thread is due; zero for never. The caller of a run that failed, or whose
// context ended, decides when the thread continues.
func (r *Rest) Wake() time.Time {
	switch {
	case r.Begins():
		return Now()
	case r.Status == checkpoint.Waiting && r.Signal:
		return Now()
	case r.Status == checkpoint.Waiting && (r.Deadline.IsZero() || !r.Next.IsZero() && r.Next.Before(r.Deadline)):
		return r.Next
	case r.Status == checkpoint.Ready && r.Continue:
		return Now()
	case r.Status == checkpoint.Waiting || r.Status == checkpoint.Ready || r.Status == checkpoint.Paused:
		return r.Deadline
	}
	return time.Time{}
}
