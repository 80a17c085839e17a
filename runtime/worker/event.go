package worker

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Event is one event of a Worker. Which fields are set depends on Kind.
type Event struct {
	Kind   EventKind
	Graph  string // of the thread, as the thread stores it
	Thread string
	Queue  string // EventPaused and EventResumed: of a queue

	Status   graph.Status  // EventClaimed: of the thread before this run, Running if its last run died; EventEnded: after it
	Steps    int           // EventEnded: the supersteps that the run committed
	Attempts int           // EventClaimed: failed attempts before this run; EventEnded: those including it
	Wake     time.Time     // EventEnded: when a failed thread runs again; EventIdle: when the next thread is due; zero for never
	Took     time.Duration // EventEnded: the time of the run
	Waited   time.Duration // EventClaimed: how long the thread was due before the worker found it, pauses included
	Err      error

	Deleted int // EventCleaned: the threads that were removed
	Pruned  int // EventCleaned: the checkpoints and released versions that were removed from other threads
}

// EventKind is the kind of an Event.
type EventKind uint8

const (
	EventClaimed        EventKind = iota + 1 // a run of this worker took a thread
	EventEnded                               // that run ended; Err is its error
	EventUnchanged                           // nothing could run on a due thread, which is not due any more
	EventRefused                             // a due thread is held by another run, has changed or is gone; Err says which
	EventLeft                                // a due thread is left to other workers: this one cannot read it, or an Interceptor refuses the run; Err says why
	EventLate                                // a run cannot renew its lease in time; the worker claims nothing meanwhile
	EventOnTime                              // no run is late any more
	EventSaverFailed                         // a call of the saver failed with Err; the worker tries again
	EventEngineFailed                        // the Engine failed with Err; the worker tries again
	EventIdle                                // a poll found that nothing is due, and nothing runs; Wake is when the next known thread is due
	EventDraining                            // Run ends: the worker claims nothing more, and waits for its runs
	EventReleased                            // the lease of a run that did not end in time was given up; Err is the error of the release
	EventPaused                              // a graph or a queue of the worker is paused; see Pause
	EventResumed                             // that pause has ended
	EventMessageRefused                      // a run refused a message of its thread; Err says which and why
	EventTaskFailed                          // a task of a queue has no outcome, because of Err; it runs again. Thread is that of the task
	EventCleaned                             // a pass of Options.Retention has removed something of a graph
)

// String returns the name of the kind, such as "claimed".
func (k EventKind) String() string {
	names := [...]string{"no event", "claimed", "ended", "unchanged", "refused", "left", "late", "on time", "saver failed",
		"engine failed", "idle", "draining", "released", "paused", "resumed", "message refused", "task failed", "cleaned"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown event"
}
