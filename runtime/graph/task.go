package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Task is one execution of a node in a superstep. The fields are Graph, Thread (empty for Run),
// Node, Step, Index (the number of the send, else 0), Attempt (from 1) and Key.
//
// Key makes side effects idempotent. It is the same for all attempts of a task, also after a crash
// and a resume. Two tasks never have the same key, even on different threads. Replays and forks
// have keys of their own.
type Task = task.Task

// CurrentTask returns the task whose node runs under ctx.
//
// In the functions of MapSubgraph it returns the task of the subgraph's node. In a route it
// returns a Task with Graph, Thread, Node (the node that ran) and Step. Attempt and Key are zero
// there, because a route is not stored and may be called again.
//
// CurrentTask returns the zero Task under any other context, and after the node or route has
// returned.
func CurrentTask(ctx context.Context) Task {
	t, _ := task.Current(ctx)
	return t
}
