package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Task is one execution of a node in a superstep. The fields are Graph, Thread (empty for Run),
// Node, Step, Index (the number of the send, else 0), Attempt (from 1) and Key.
//
// Key makes side effects idempotent. It is the same for all attempts of a task, also after a crash
// and a resume. Two tasks never have the same key, even on different threads. A copy of a thread
// (checkpoint.Copy) is an exception: its tasks have the keys of the original.
// Replays and forks have keys of their own.
type Task = task.Task

// maxSummary is how many bytes a summary may have.
const maxSummary = 200

// Summary describes the task whose node runs under ctx in a few words, for example by the customer
// that it works on. It distinguishes a thousand sends to one node. Events, errors, open questions
// and the tasks of a Snapshot show the text. It is stored with the task's question or failure, and
// not with its update.
//
// The last call of a task counts. A later attempt keeps the text until it sets another one. A text
// of more than 200 bytes is cut between two characters. Under the context of a route, and after
// the node has returned, Summary does nothing.
func Summary(ctx context.Context, text string) { task.Summarise(ctx, journal.Cut(text, maxSummary)) }

// CurrentTask returns the task whose node runs under ctx.
//
// In the functions of MapSubgraph and TaskSubgraph it returns the task of the subgraph's node. In
// a route it returns a Task with Graph, Thread, Node (the node that ran) and Step. Attempt and Key
// are zero there, because a route is not stored and may be called again.
//
// CurrentTask returns the zero Task under any other context, and after the node or route has
// returned.
func CurrentTask(ctx context.Context) Task {
	t, _ := task.Current(ctx)
	return t
}
