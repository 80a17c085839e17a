package graph

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Result is what a run came to. Beside an error it holds what was committed before.
type Result[S any] struct {
	// State is the newest committed state. It is the caller's to keep and to read; lists, maps and pointers in
	// it may be shared with others, so writing through them needs a Clone.
	State  S
	Status Status
	// Questions are the questions that wait for an answer, in task order; they may be set even if err is not nil.
	Questions []OpenQuestion
	// Next are the nodes that are due, each once, however much was sent to it: what Resume runs. If no node is due, Next is what
	// may follow: the targets of the routes that BeforeRoute has put off, or End after a stop behind the last node. It is nil only
	// when the run has finished.
	Next []ID
	// Stops are the static stops that hold the run, if it is Paused, and those that hold its subgraph calls.
	Stops []Stop
	// Checkpoint is the thread's newest record; zero for Run. IfHead takes it.
	Checkpoint checkpoint.ID
	// Steps is how many supersteps this call committed.
	Steps int
	// Unjoined are the nodes whose joins were only partly reached when the run finished; an error under Strict.
	Unjoined []ID
}

// Snapshot is a thread at one checkpoint. Thread.State and Thread.History return it; History leaves Tasks, Questions and Status
// out, which are not part of the checkpoint.
type Snapshot[S any] struct {
	// State is shared as in Result.
	State      S
	Checkpoint checkpoint.ID
	Parent     checkpoint.ID     // the record it was made from, which may be that of a resume; zero for the first
	Step       int               // the superstep's number in the thread, from 0, the empty checkpoint
	Source     checkpoint.Source // what made it
	Node       ID                // as which UpdateState was called, else empty
	Next       []ID              // what was due, as in Result; nil when nothing was
	Calls      []SubgraphCall    // the subgraphs among Next
	Created    time.Time         // by the clock of the process that wrote it, in UTC

	// Tasks has what is stored of each task that is due, in the order in which they merge; nil when their superstep has committed.
	Tasks []TaskState
	// Questions are the questions of those tasks that have no answer, oldest first.
	Questions []OpenQuestion
	// Status is the thread's, when this is its head; else zero.
	Status Status
	// Stops are the static stops at which a run stopped here. Those in subgraph calls are left out of a history.
	Stops []Stop
	// Reason is why the run that is Failed or Ready ended: the text of its error, or of the cause of its context, or of the drain.
	// It is cut after 8 KiB, and empty when the thread continues. History leaves it out.
	Reason string
}

// SubgraphCall is one call of a subgraph: that of the superstep after the checkpoint which lists it. Inside opens it.
type SubgraphCall struct {
	Node      ID     // of the subgraph
	Namespace string // where its checkpoints are, in the thread
	Version   int    // of the thread, if that was released; 0 for the open one
}

// TaskState is what is stored of a due task whose superstep has not committed.
type TaskState struct {
	Node     ID
	Index    int    // of the send that the task is of, else 0
	Finished bool   // its result is stored: Resume does not run it again
	Failure  string // the text of its last error, cut after 8 KiB; empty if it has not failed
}
