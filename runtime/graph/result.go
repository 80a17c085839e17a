package graph

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Result is the outcome of a run. If a run on a thread ends with an error, the Result holds the
// last committed state. If the call opens no run, the Result is zero.
type Result[S any] struct {
	// State is the newest committed state. The caller may keep and read it. Lists, maps and
	// pointers in it may be shared with others: use Clone before writing through them.
	State  S
	Status Status
	// Questions are the open questions, in task order. They may be set even if err is not nil.
	Questions []OpenQuestion
	// Timers are the times that tasks wait for, in task order. A pause of Retry that is longer
	// than the lease is one. The run then ends with the status Waiting and no error, although an
	// attempt has failed.
	Timers []Timer
	// Signals are the signals that tasks wait for, in task order.
	Signals []OpenSignal
	// Next are the due nodes, which Resume runs. Each is listed once, however many inputs were
	// sent to it. If no node is due, Next lists what may follow: the targets of routes that
	// BeforeRoute postponed, or End after a stop after the last node. It is nil only if the run
	// has finished.
	Next []ID
	// Stops are the static stops that hold the run and its subgraph calls, if Status is Paused.
	Stops []Stop
	// Checkpoint is the thread's newest record; zero for Run. IfHead takes it.
	Checkpoint checkpoint.ID
	// Steps is the number of supersteps that this call committed.
	Steps int
	// Unjoined are the targets of joins that only some sources had reached when the run finished.
	// Under Strict this is an error.
	Unjoined []ID
}

// Snapshot is a thread at one checkpoint. Thread.State and Thread.History return it. History
// leaves out Tasks, Questions and Status, because they are not part of the checkpoint.
//
// Ran omits Start, and nodes whose tasks all lost a race. After UpdateState with AsNode, Ran has
// the nodes of the edit.
type Snapshot[S any] struct {
	// State is shared as in Result.
	State      S
	Thread     string // the id of the thread
	Version    int    // the number of its version, if that was released or Thread.Version named it; else 0
	Checkpoint checkpoint.ID
	Parent     checkpoint.ID     // the record before it, which may be that of a resume; zero for the first
	Step       int               // number of the superstep in the thread, from 0, the empty checkpoint
	Source     checkpoint.Source // the kind of call or commit that wrote it
	Ran        []ID              // the nodes that ran in the superstep, each once, in task order
	Next       []ID              // the due nodes, as in Result; nil for none
	Calls      []SubgraphCall    // the calls of the subgraphs among Next, one for each send
	Created    time.Time         // by the clock of the process that wrote it, in UTC
	Metadata   map[string]string // of the run or edit that stored it, as the option Metadata set it; nil for none

	// Title and Labels are those that the thread has now. They are empty in a history.
	Title  string
	Labels map[string]string

	// Tasks has the stored results and errors of the due tasks, in the order in which they merge.
	// It is nil if their superstep has committed.
	Tasks []TaskState
	// Dropped are the tasks that had not finished when the input of this checkpoint took their
	// place. Only their Node and Index are set.
	Dropped []TaskState
	// Questions are the open questions of those tasks and of their subgraph calls, in task order:
	// those that Resume accepts an answer to. A question that has expired is left out.
	Questions []OpenQuestion
	// Timers are the times for which those tasks wait, in the order of Questions.
	Timers []Timer
	// Signals are the signals that those tasks wait for, in the order of Questions. A wait that
	// has expired is left out.
	Signals []OpenSignal
	// Status is the status of the thread if this checkpoint is its head, else zero.
	Status Status
	// Cancelling reports whether this checkpoint is the head, and a Cancel of the thread waits: no
	// run has obeyed or refused it yet.
	Cancelling bool
	// Inputs is the number of submitted inputs that wait, if this checkpoint is the head.
	Inputs int
	// Stops are the static stops at which a run stopped here. A history leaves out the stops in
	// subgraph calls.
	Stops []Stop
	// Deadline is when ExecutionTimeout cancels the due tasks, if this checkpoint is the head, on
	// the saver's clock. It is zero for never, and in a history.
	Deadline time.Time
	// Reason explains why a run ended as Failed or Ready: the text of its error, of the cause of
	// its context, or of the drain. It is cut after 8 KiB. It is empty when the thread continues,
	// and in a history.
	Reason string
}

// result and snapshot are a Result and a Snapshot without the types of their state.
type (
	result   = Result[struct{}]
	snapshot = Snapshot[struct{}]
)

// resultWith returns r with another state.
func resultWith[S, T any](r Result[S], state T) Result[T] {
	return Result[T]{state, r.Status, r.Questions, r.Timers, r.Signals, r.Next, r.Stops, r.Checkpoint, r.Steps, r.Unjoined}
}

// snapshotWith returns s with another state.
func snapshotWith[S, T any](s *Snapshot[S], state T) Snapshot[T] {
	return Snapshot[T]{
		state, s.Thread, s.Version, s.Checkpoint, s.Parent, s.Step, s.Source, s.Ran, s.Next, s.Calls, s.Created, s.Metadata,
		s.Title, s.Labels, s.Tasks, s.Dropped, s.Questions, s.Timers, s.Signals, s.Status, s.Cancelling, s.Inputs, s.Stops,
		s.Deadline, s.Reason,
	}
}

// String returns one line for logs, without the state:
// "order-7, step 3, waiting; due: review; questions: approve at review". A line break in it, such
// as that of a Reason, becomes "; ".
func (s Snapshot[S]) String() string {
	untyped := snapshotWith(&s, struct{}{})
	return lineOf(&untyped)
}

// lineOf is Snapshot.String.
func lineOf(s *snapshot) string {
	var b strings.Builder
	b.WriteString(s.Thread + ", step " + strconv.Itoa(s.Step))
	if s.Version != 0 {
		b.WriteString(", version " + strconv.Itoa(s.Version))
	}
	if s.Status != 0 {
		b.WriteString(", " + s.Status.String())
	}
	appendList(&b, "due", s.Next)
	appendList(&b, "stops", s.Stops)
	appendList(&b, "questions", s.Questions)
	appendList(&b, "timers", s.Timers)
	appendList(&b, "signals", s.Signals)
	if s.Inputs > 0 {
		b.WriteString("; inputs that wait: " + strconv.Itoa(s.Inputs))
	}
	if !s.Deadline.IsZero() {
		b.WriteString("; deadline: " + s.Deadline.Format(time.RFC3339))
	}
	if s.Reason != "" {
		b.WriteString("; reason: " + s.Reason)
	}
	return breaks.Replace(b.String())
}

// breaks replaces line breaks.
var breaks = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ")

// appendList appends "; name: a, b" to b, or nothing for no elements.
func appendList[T fmt.Stringer](b *strings.Builder, name string, list []T) {
	for i, v := range list {
		if i == 0 {
			b.WriteString("; " + name + ": " + v.String())
		} else {
			b.WriteString(", " + v.String())
		}
	}
}

// SubgraphCall is one call of a subgraph, in the superstep after the checkpoint that lists it.
// Inside opens it.
type SubgraphCall struct {
	Node      ID     // the node of the subgraph
	Index     int    // number of the send that the call is of, else 0
	Namespace string // the place of its checkpoints in the thread
	Version   int    // version of the thread, if that was released; 0 for the open one
}

// FailedAttempt is an attempt of a task that failed.
type FailedAttempt struct {
	Number  int       // among the failed attempts of the task in all runs, from 1
	Attempt int       // its number in its run, from 1; 0 if the task had succeeded and only the merge failed
	Failed  time.Time // when, by the clock of the process that ran the task, in UTC
	Worker  string    // the Holder of its run; empty for an attempt on a worker of a queue
	Text    string    // of the error, cut after 1 KiB
	Stack   string    // of a panic, cut after 4 KiB; else empty
}

// TaskState describes a due task whose superstep has not committed.
type TaskState struct {
	Node     ID
	Index    int    // number of the send that the task runs, else 0
	Finished bool   // its result is stored: Resume does not run it again; TaskUpdates returns it
	Failure  string // the text of its last error, cut after 8 KiB; empty if it has not failed
	Summary  string // that it gave Summary before it waited or failed; empty for none
	Progress string // the newest note of Progress that is stored; empty for none

	// Attempt is the number of the attempt that failed with Failure, in its run. It is 0 without a
	// Failure, or if the task has its result from an earlier run and only the merge failed.
	Attempt int
	// FailedAt is the time of the Failure, by the clock of the process that ran the task, in UTC.
	// It is zero without a Failure. Both are zero if an early version of this module stored it.
	FailedAt time.Time

	// Attempts are the failed attempts of the task, oldest first: the newest 20 of all runs. They
	// are stored when the task waits for another attempt, or when the run ends, and until the
	// superstep commits.
	Attempts []FailedAttempt

	// Queue is the queue whose workers the task waits for, since the time Queued on the saver's
	// clock. It is empty if the task waits for none. QueueThread is the id of the thread that is
	// the task in the queue. While a worker runs the task, the Wake of that thread is in the
	// future.
	Queue       string
	Queued      time.Time
	QueueThread string
}
