package checkpoint

import (
	"strconv"
	"time"
)

// ReadyQuery selects threads that are due.
type ReadyQuery struct {
	Graphs  []string      // the graphs of the threads; threads of the first are returned first
	Except  []string      // the ids of threads that are left out and stay as they are
	Limit   int           // the maximum number of threads, at least 1
	Reserve time.Duration // how long others do not get the threads; zero changes nothing
	Mail    int           // with Reserve: also return the untaken messages of threads that have at most so many; less than 1 is none
}

// MaxReadyMail is the maximum size of the messages that one Ready returns: the bytes of their
// stored payloads. Ready leaves out the messages of further threads.
const MaxReadyMail = 1 << 20

// ReadyThreads are threads that are due.
type ReadyThreads struct {
	Threads []ReadyThread
	// Next is not later than the earliest Wake of the threads of the graphs after the call,
	// without those of Except and those that the call reserves; zero if none has one. It may be in
	// the past: Ready can leave out a due thread that another call changes meanwhile.
	Next time.Time
	Now  time.Time // by the saver's clock
}

// ReadyThread is a thread that is due.
type ReadyThread struct {
	ID       string
	Graph    string
	Priority Priority
	Status   Status
	Wake     time.Time // when it became due
	Fence    ID        // of the newest run; zero if the version was imported, or if no version is open
	Attempts int
	Posted   uint64            // the number of the newest message
	Labels   map[string]string // nil for none; the caller must not modify it
	Birth    ID                // as in Chain

	// HasMail reports that Mail has all untaken messages of the thread, in the order of their
	// numbers, up to Posted. A saver may leave them out. It does so for messages that it
	// cannot read, and beyond MaxReadyMail. Nobody may modify their payloads.
	HasMail bool
	Mail    []Message
}

// Rewake sets when a thread is due.
type Rewake struct {
	Thread string
	Fence  ID        // of the newest run, as in ReadyThread
	Posted uint64    // the number of the newest message, as in ReadyThread
	Birth  ID        // of the thread, as in ReadyThread; zero is any
	Wake   time.Time // as in Append
}

// Check returns an [*InvalidError] for the first value in q that no saver accepts, or nil.
func (q *ReadyQuery) Check() error {
	switch {
	case q.Limit < 1:
		return &InvalidError{"limit", strconv.Itoa(q.Limit), "1 or more"}
	case q.Reserve < 0:
		return &InvalidError{"reserve", "a negative duration", "zero to change nothing, or more"}
	}
	for _, graph := range q.Graphs {
		if err := checkGraph("graphs", graph); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an [*InvalidError] for the first value in r that no saver accepts, or nil.
func (r *Rewake) Check() error { return CheckThread(r.Thread) }
