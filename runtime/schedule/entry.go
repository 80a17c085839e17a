package schedule

import "time"

//go:generate go tool graphgen -type=entry

// entry is the state of the thread of a schedule.
type entry struct {
	ID       string
	Spec     Spec
	Action   action
	Commands map[string]command `graph:"merge"` // that the next decision applies, by ID
	Progress progress
}

// action is the input that each firing submits, as a checkpoint.Post without a thread.
type action struct {
	Graph  string
	Title  string
	Labels map[string]string
	Input  []byte
}

// progress is the part of a schedule that changes with each tick. Its size does not depend on the
// number of ticks.
type progress struct {
	Decided time.Time // the decisions on the ticks up to here are made
	Wake    time.Time // when the next decision is due; zero for never
	More    bool      // the next decision is due now

	Paused bool
	Note   string

	Firing    []Firing // that the next superstep submits
	Cancels   bool     // the next superstep cancels the newest firing
	Cancelled string   // the thread that was cancelled last
	Buffered  []Firing // that wait for the end of the newest firing; at most one
	Ranges    []span   // to backfill

	Recent  []Firing // the newest ones, oldest first; at most maxRecent
	Fired   int64
	Skipped int64
	Missed  int64
}

// span is the rest of a Backfill: the ticks in (After, To).
type span struct{ After, To time.Time }

// Firing is a tick for which an input was submitted.
type Firing struct {
	Tick   time.Time // the nominal time, without Jitter; that of the call for Trigger
	Thread string    // the thread that the input begins
	At     time.Time // when the schedule decided to fire, on the saver's clock
	// Err is why the saver refused the input; empty for none. A full inbox is one reason.
	Err string
}

// command changes a schedule.
type command struct {
	Kind   string
	ID     string // unique
	Note   string
	Range  span
	Spec   Spec
	Action action
}

// The kinds of commands.
const (
	pausing     = "pause"
	unpausing   = "unpause"
	triggering  = "trigger"
	backfilling = "backfill"
	updating    = "update"
)
