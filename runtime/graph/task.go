package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Task is one execution of a node in a superstep: the fields are Graph, Thread (empty for Run), Node, Step,
// Index (a send's number, else 0), Attempt (from 1) and Key.
//
// Key is the same on every attempt, also after a crash and a resume, and differs between any two other
// tasks, on whatever thread: it is what makes a side effect idempotent. A replay or a fork has keys of its own.
type Task = task.Task

// CurrentTask returns the task whose node runs under ctx. It is the zero Task outside of a node, and after the node has
// returned: a context belongs to one attempt, and is cancelled when the attempt returns.
func CurrentTask(ctx context.Context) Task {
	t, _ := task.Current(ctx)
	return t
}
