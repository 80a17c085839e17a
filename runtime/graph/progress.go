package graph

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// MaxProgress is how many bytes a note of Progress may have.
const MaxProgress = 1 << 10

// Progress notes how far the task is whose node runs under ctx, for example "page 7 of 20". It is
// the heartbeat of a long node: it starts the time of IdleTimeout again. The next attempt gets the
// newest note from LastProgress, and TaskState.Progress shows it.
//
// Progress writes nothing by itself, so it may be called often. On a thread, a changed note is
// stored by the next write of the run that stores no checkpoint. Such writes are the result of
// another task, the result of Do, the renewal of the lease and the end of the run. The lease is
// renewed after a third of its time (5 s by default) without a write. With OnExit only the end of
// the run stores the note. After the commit of the superstep the note is gone.
//
// The worker of a Queue stores a changed note after a third of the lease. For an attempt that has
// run for long, it waits for an eighth of that time instead. It also stores the note of an attempt
// that fails, waits or is interrupted.
//
// Under the context of a route, and after the node has returned, Progress does nothing. It returns
// ErrProgressTooLong, and keeps the earlier note, if the note has more than MaxProgress bytes.
// Progress is safe for concurrent use.
func Progress(ctx context.Context, note string) error {
	task.Alive(ctx)
	if len(note) > MaxProgress {
		return fmt.Errorf("graph: Progress: %w: it has %d bytes, more than %d; store larger data by Do", ErrProgressTooLong, len(note), MaxProgress)
	}
	task.Progress(ctx, note)
	return nil
}

// LastProgress returns the newest note of Progress of the task whose node runs under ctx, in this
// or an earlier attempt. An attempt of a later run gets the note if it was stored by then. ok is
// false if there is no such note, and under any other context. Rerun drops the note.
func LastProgress(ctx context.Context) (note string, ok bool) { return task.LastProgress(ctx) }

// Progress implements task.Host.
func (r *run) Progress(t *Task, note string) {
	key, of := r.Key(t), checkpoint.Write{}
	if r.log != nil {
		of = r.log.About(key)
	}
	r.opt.beats.Set(key, of, note)
}

// LastProgress implements task.Host.
func (r *run) LastProgress(t *Task) (note string, ok bool) {
	key := r.Key(t)
	if note, ok = r.opt.beats.Get(key); ok {
		return note, true
	}
	return r.pending.Progress(key)
}

// dropProgress forgets the notes of the tasks of a superstep that commits.
func (r *run) dropProgress() {
	if r.opt.beats.None() {
		return
	}
	for i := range r.exec.Tasks {
		r.opt.beats.Drop(r.taskKey(&r.exec.Tasks[i].Task))
	}
}
