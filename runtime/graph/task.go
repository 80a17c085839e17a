package graph

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
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

// dueKey returns the key of a task that is due at rec, in a namespace.
func dueKey(rec *checkpoint.Record, namespace string, t checkpoint.Task) string {
	return taskKey(rec.Line, namespace, rec.Step+1-readCallMark(rec.Meta).begun, ID(t.Node), int(t.Index))
}

// taskKey names a task: a hash of what stays the same however often it is tried. Strings are preceded by their
// length, so that no two tasks hash the same bytes.
func taskKey(line checkpoint.ID, namespace string, step int, node ID, index int) string {
	b := make([]byte, 0, 128)
	b = append(b, line[:]...)
	b = binary.AppendUvarint(b, uint64(len(namespace)))
	b = append(b, namespace...)
	b = binary.AppendUvarint(b, uint64(step))
	b = binary.AppendUvarint(b, uint64(len(node)))
	b = append(b, node...)
	b = binary.AppendUvarint(b, uint64(index))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
