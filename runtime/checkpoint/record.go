package checkpoint

import "time"

// Record is one entry of a thread's log: a checkpoint, or the mark that a run was resumed.
//
// Records of one namespace are numbered 1, 2, 3 ... by Seq. A record is never changed once stored, but
// for Prune, which may give the oldest kept record a snapshot in place of its delta.
//
// A Record handed to a saver belongs to the saver's caller again when the call returns; savers copy what
// they keep. A Record that a saver returns may share memory with the saver: nobody may modify it. See [Saver] on
// its payload.
type Record struct {
	ID     ID
	Seq    uint64 // assigned by the saver: the head's Seq plus one; what a caller sets is ignored
	Parent ID     // the checkpoint this one was made from; zero for a thread's first
	Base   ID     // the record whose due tasks this one still has; its own ID when it made them due itself
	Line   ID     // the newest input, fork or replay record up to here; part of every task's key

	// Commits names the base whose tasks this record's superstep finished; zero for none. Pending writes
	// of that base count for nothing from here on.
	Commits ID

	Step   int // superstep number in the thread, from 0 (the empty checkpoint); a resume record repeats its parent's
	Source Source
	Node   string // for Update and Fork: the node as which the state was edited, else empty

	Due           []Task   // tasks of the next superstep, in the order in which they merge; stored only when Base == ID
	PendingRoutes []string // nodes whose routes have yet to be evaluated; "__end__" for a stop behind which nothing is due
	Joins         []Join   // joins that some of their nodes have reached
	ClearedStops  []string // static stops already answered for: nodes that run now although a run is to stop before or after them

	// Request is the caller's name for the input that began the run, so that the same request sent again
	// resumes it; on Input records only, empty for none.
	Request string

	// Fingerprint is the state schema's. A record whose fingerprint differs from its parent's carries a
	// snapshot.
	Fingerprint uint64
	Graph       string            // the name of the graph that wrote it
	Meta        map[string]string // what else its writer keeps with it, by name; nil for none
	Created     time.Time         // the writer's clock, UTC, to the microsecond; for people, never for order

	// Snapshot says what Payload is: the whole state, or the delta on the state of the record before it
	// (by Seq). A record whose Parent is not the record just before it always has a snapshot.
	Snapshot bool
	Payload  []byte
}

// Task is one due task.
type Task struct {
	Node    string
	Index   uint32 // the send's number, or 0
	Payload []byte // a send's payload, encoded; nil for a task without one
}

// Join is a join that waits: Fired are the nodes that have run since it last let through, in the order
// of its declaration.
type Join struct {
	To    string
	Fired []string
}

// Source says what made a record.
type Source uint8

const (
	Input  Source = iota + 1 // a run's input, two checkpoints: one with Start due, and one with the input merged
	Loop                     // a superstep
	Update                   // an edit: UpdateState at the head, without a node; what was due stays due
	Fork                     // a fork: UpdateState as a node, or at an older checkpoint; a replay
	Resume                   // a run was taken up again; not a checkpoint: History leaves it out unless asked
)

// String returns the name used in listings: "input", "loop", "update", "fork", "resume".
func (s Source) String() string {
	switch s {
	case Input:
		return "input"
	case Loop:
		return "loop"
	case Update:
		return "update"
	case Fork:
		return "fork"
	case Resume:
		return "resume"
	}
	return "unknown source"
}

// Write is a pending write: what a task of a superstep that has not committed came to so far. A Write of kind Schema is
// none: it belongs to the version, and SchemaWrite makes it.
//
// A write is identified by (Namespace, Base, Task, Kind, Name). Storing a Result or Schema again changes
// nothing: the first one wins. Every other kind is replaced by a later write of the same identity, which takes its place in
// the order. A write whose base has been committed is accepted and counts for nothing. The writes of one call
// are taken in order, so a Discard may be followed by the Result that stands in its stead.
//
// Savers copy the payloads they are given. Nobody may modify a payload that a saver returns.
type Write struct {
	Namespace string
	Base      ID     // of the record that made the task due; zero for a Schema
	Task      string // the task's key: the same on every attempt; of a Schema the fingerprint
	Kind      Kind
	Name      string // of a question or answer, when a task asks several, and of a part of a result; else empty
	Payload   []byte
}

// Kind says what a pending write is.
type Kind uint8

const (
	Result   Kind = iota + 1 // the task finished; the payload is its update
	Question                 // the task waits for an answer
	Answer                   // the answer
	Failure                  // the task failed; the payload is the error's text
	Discard                  // not stored itself: the task's Result and Failure of its Name stored before it are removed, so that it runs again
	Schema                   // the description of a state's schema, for tools
)

// String returns "result", "question", "answer", "failure", "discard" or "schema".
func (k Kind) String() string {
	switch k {
	case Result:
		return "result"
	case Question:
		return "question"
	case Answer:
		return "answer"
	case Failure:
		return "failure"
	case Discard:
		return "discard"
	case Schema:
		return "schema"
	}
	return "unknown kind"
}

// Status says what a thread needs next. Storage, results and snapshots have the same statuses. The
// numbers are stored.
type Status uint8

// The statuses of a thread. Ready, Paused, Failed and Cancelled threads, and those of a run that
// died, continue by Resume. Nobody has to decide anything about a Ready thread: a program that
// starts can resume all of them.
const (
	Running   Status = 1 // a run is in progress, or its process died
	Waiting   Status = 2 // a task waits for an answer, and nothing else can run
	Paused    Status = 3 // at a static stop, for a person
	Failed    Status = 4 // the run ended with an error other than the end of its context
	Done      Status = 5 // nothing is due
	Ready     Status = 6 // work is due: the thread was drained, its context ended, or it was forked
	Cancelled Status = 7 // somebody cancelled the thread; no run does so yet
)

// String returns "running", "waiting", "paused", "failed", "done", "ready" or "cancelled". Zero is
// "no status".
func (s Status) String() string {
	names := [...]string{"no status", "running", "waiting", "paused", "failed", "done", "ready", "cancelled"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown status"
}
