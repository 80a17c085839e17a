package checkpoint

import "time"

// Record is one entry in the log of a thread: a checkpoint, or a mark that a run resumed.
//
// Seq numbers the records of one namespace from 1. A stored record never changes, with one
// exception: Prune may give the oldest kept record a snapshot in place of its delta.
//
// Savers copy the records that they store, so the caller may reuse a Record after the call. A
// Record that a saver returns may share memory with the saver, so nobody may modify it. [Saver]
// has more on payloads.
type Record struct {
	ID     ID     // from NewIDAfter: greater than that of the record before
	Seq    uint64 // set by the saver: the Seq of the head plus one
	Parent ID     // the checkpoint that this one continues; zero for the first of a thread
	Base   ID     // the record that made the due tasks due; may be this record
	Line   ID     // the newest input, fork or replay record so far; part of the key of every task

	// Commits names the base whose tasks the superstep of this record finished, or is zero. Later
	// reads ignore the pending writes of that base.
	Commits ID

	Step   int // the number of the superstep, from 0 for the empty checkpoint; a resume record has that of its parent
	Source Source

	// Ran are the nodes whose tasks the superstep of this record ran, each once, in the order in
	// which they merged. Of a Fork they are the nodes on whose behalf the state was edited. Start
	// is left out of an Input.
	Ran []string

	Due           []Task   // tasks of the next superstep, in the order in which they merge; stored only if Base == ID
	PendingRoutes []string // nodes whose routes are not yet evaluated; "__end__" for a stop at the end
	Joins         []Join   // joins that some of their nodes have reached
	ClearedStops  []string // nodes at whose static stops the run does not stop again

	// Request is the name that the caller gave the input of the run. The same request sent again
	// resumes the run. Only Input records have it; empty is none.
	Request string

	// Fingerprint identifies the schema of the state. If it differs from the parent's, the record
	// has a snapshot.
	Fingerprint uint64
	Graph       string            // the name of the graph that wrote it
	Meta        map[string]string // further data of the writer, by name; nil for none
	Created     time.Time         // by the clock of the writer, UTC, to the microsecond; for information, never for order

	// Snapshot reports whether Payload is the whole state. Otherwise Payload is the delta on the
	// state of the previous record by Seq. If the parent is not the previous record, the record
	// has a snapshot.
	Snapshot bool
	Payload  []byte
}

// Task is a task that is due.
type Task struct {
	Node    string
	Index   uint32 // the send's number, or 0
	Payload []byte // a send's payload, encoded; nil for a task without one
}

// Join is a join that waits. Fired are the nodes that have run since the join last fired, in the
// order of its declaration.
type Join struct {
	To    string
	Fired []string
}

// Source is the origin of a record.
type Source uint8

const (
	Input  Source = iota + 1 // the input of a run: one checkpoint with Start due, and one with the input merged
	Loop                     // a superstep
	Update                   // an edit by UpdateState at the head, without a node; due tasks stay due
	Fork                     // a fork: UpdateState as a node, or at an older checkpoint; a replay
	Resume                   // a run resumed; not a checkpoint, so History omits it by default
)

// String returns the name for listings: "input", "loop", "update", "fork" or "resume".
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

// Write is a pending write: a stored result, question, answer, failure or outcome of a task whose
// superstep has not committed. A Write of kind Schema is not pending. It belongs to the version;
// SchemaWrite makes it.
//
// Namespace, Base, Task, Kind and Name identify a write. The first Result, Outcome or Schema with
// the same identity is kept. For every other kind, a later write replaces the earlier one and
// takes its place in the order. The writes of one call apply in order, so a Discard can be
// followed by a new Result. A write whose base has been committed is accepted and has no effect.
//
// The caller must set Namespace to the namespace of the record Base. That record may be stored
// later. A write with another Namespace belongs to no task: a saver accepts it, and may drop it or
// return it, and runs ignore it.
//
// Savers copy the payloads that they store. Nobody may modify a payload that a saver returns.
type Write struct {
	Namespace string
	Base      ID     // of the record that made the task due; zero for a Schema
	Task      string // the key of the task, the same on every attempt; for a Schema the fingerprint
	Kind      Kind
	Name      string // of a question or answer if a task asks several, and of a part of a result or failure; else empty
	Payload   []byte
}

// Kind is the kind of a write.
type Kind uint8

const (
	Result   Kind = iota + 1 // the task finished; the payload is its update
	Question                 // the task waits for an answer
	Answer                   // the answer
	Failure                  // the task failed; the payload is the error's text, or another part of the failure if the write has a name
	Discard                  // removes the Result, Failure and Answer of the task with this Name, so that the task runs again; is not stored
	Schema                   // the description of a state's schema, for tools
	Outcome                  // how one execution of the task ended in another process, see Post.Outcomes
)

// String returns "result", "question", "answer", "failure", "discard", "schema" or "outcome".
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
	case Outcome:
		return "outcome"
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
	Waiting   Status = 2 // a task waits for an answer, a signal, a time or a queue, and nothing else can run
	Paused    Status = 3 // at a static stop, for a person
	Failed    Status = 4 // the run ended with an error other than the end of its context
	Done      Status = 5 // nothing is due
	Ready     Status = 6 // work is due: the thread was drained, its context ended, or it was forked
	Cancelled Status = 7 // somebody cancelled its pending work
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
