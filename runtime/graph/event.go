package graph

import (
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// EventKind is the kind of an event. Streams yield all kinds, except those marked "Only for
// observers". Observers get those that are not marked "Only in streams". Combine several kinds by
// |, for Events.
type EventKind uint16

const (
	// EventUpdate: the update of a task, after the commit of its superstep, in the order of
	// merging. A subgraph over the same state has one event for each of its tasks. Only in
	// streams.
	EventUpdate EventKind = 1 << iota
	// EventState: the state of a checkpoint, after its commit. The first is that of the input.
	// Only in streams.
	EventState
	// EventTaskStarted: an attempt of a task starts.
	EventTaskStarted
	// EventTaskEnded: the attempt has ended, with an Outcome. Its superstep is not committed yet.
	EventTaskEnded
	// EventCustom: a value that a node passed to Emit. Only in streams.
	EventCustom
	// EventCheckpoint: a superstep was committed: stored, or queued to be stored.
	EventCheckpoint
	// EventQuestion: a node waits for an answer. The question is stored; other nodes may still
	// run. Only in streams.
	EventQuestion
	// EventRunEnded: the run has ended. A stream always yields it, as the last event, with the
	// Result and the error of the run.
	EventRunEnded
	// EventRunStarted: a run has opened its thread, and its first node is about to run.
	EventRunStarted
	// EventTaskRetry: an attempt has failed, and another one starts after Delay.
	EventTaskRetry
	// EventTaskStuck: a node has not returned although its context ended ten seconds ago. The run
	// waits for it. Reported once for an attempt.
	EventTaskStuck
	// EventTaskUpdate: the update of a task that has ended. Its superstep is not committed: other
	// tasks may still run, and if one of them fails, the update is stored with the thread but not
	// merged. EventUpdate follows after the commit. Only in streams.
	EventTaskUpdate
	// EventTaskFallback: the last attempt has failed, and the Fallback of the node starts, as the
	// next attempt of the task.
	EventTaskFallback

	// EventTaskCached: a task takes its result from the Cache of its node, without an attempt. If
	// Err is set, the cache has failed, and the node is called.
	EventTaskCached

	// EventPruneFailed: the saver could not remove the checkpoints that KeepCheckpoints does not
	// keep, with Err. The run continues. Only for observers.
	EventPruneFailed

	// EventAll is every kind.
	EventAll = EventPruneFailed<<1 - 1
)

var eventNames = [...]string{
	"update", "state", "task started", "task ended", "custom", "checkpoint", "question", "run ended", "run started", "task retry",
	"task stuck", "task update", "task fallback", "task cached", "prune failed",
}

// String returns the name of a kind, such as "task started". It joins those of several kinds by
// "|".
func (k EventKind) String() string {
	var names []string
	for i, name := range eventNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := k &^ EventAll; rest != 0 || k == 0 {
		names = append(names, fmt.Sprintf("unknown event %d", rest))
	}
	return strings.Join(names, "|")
}

// MarshalText implements encoding.TextMarshaler, for packages json and slog. The text is that of
// String, and empty for no kind.
func (k EventKind) MarshalText() ([]byte, error) {
	switch {
	case k == 0:
		return []byte{}, nil
	case k&^EventAll != 0:
		return nil, fmt.Errorf("graph: event kind %d has no text; use the constants of its type", k)
	}
	return []byte(k.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *EventKind) UnmarshalText(b []byte) error {
	*k = 0
	if len(b) == 0 {
		return nil
	}
next:
	for name := range strings.SplitSeq(string(b), "|") {
		for i, known := range eventNames {
			if name == known {
				*k |= 1 << i
				continue next
			}
		}
		return fmt.Errorf("graph: event kind: there is no %.40q; want one of %s", name, strings.Join(eventNames[:], ", "))
	}
	return nil
}

// PathElement is one of the subgraph calls around a node: the task that makes the call.
type PathElement struct {
	Node  ID
	Index int // number of the send that the task runs, else 0
}

// String returns "read" or, for a send with another number than 0, "read[2]".
func (e PathElement) String() string {
	if e.Index == 0 {
		return string(e.Node)
	}
	return fmt.Sprintf("%s[%d]", e.Node, e.Index)
}

// pathOf converts a path to its public form; nil for none.
func pathOf(path []journal.PathElement) []PathElement {
	if path == nil {
		return nil
	}
	public := make([]PathElement, len(path))
	for i, e := range path {
		public[i] = PathElement{ID(e.Node), e.Index}
	}
	return public
}

// RunEvent is an event of a run, without the types of its graph. Which fields are set depends on
// Kind.
type RunEvent struct {
	Kind   EventKind
	Graph  string
	Thread string        // empty for Run
	Path   []PathElement // the subgraph calls around the event, outermost first; nil in the graph itself
	Step   int           // number of the superstep in the thread

	Node    ID            // node, for the events of a task, and EventUpdate, EventCustom and EventQuestion
	Index   int           // with Node: number of the send that the task runs, else 0
	Attempt int           // for the events of a task, and EventCustom: from 1
	Summary string        // with Node: the text that the task gave Summary so far; empty for none
	Outcome Outcome       // EventTaskEnded
	Took    time.Duration // EventTaskStuck: since its context ended; only for an Observer: EventTaskEnded, EventRunEnded
	Delay   time.Duration // EventTaskRetry: until the next attempt

	Checkpoint checkpoint.ID // checkpoint of the superstep: EventCheckpoint, EventUpdate, EventState
	Next       []ID          // EventCheckpoint: the nodes that are due

	Status Status // EventRunEnded
	// Err is the error of the attempt, for EventTaskEnded, EventTaskRetry and EventTaskFallback,
	// of the cache for EventTaskCached, and of the saver for EventPruneFailed.
	// For EventRunEnded an Observer gets the error of the run; a stream yields that error with the
	// event.
	Err error
}
