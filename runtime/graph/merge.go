package graph

import (
	"errors"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// merge merges the updates of the tasks in their order. Its callers defer rescueReducer.
func (r *run) merge() error {
	tasks, nodes := r.exec.Tasks, r.g.nodes
	for i := range tasks {
		t := &tasks[i]
		if t.Progress == exec.Beaten {
			continue
		}
		t.Progress = exec.Merging
		err := r.state.merge(i, &nodes[t.Node])
		t.Progress = exec.Succeeded
		if err != nil {
			return r.mergeError(i, err)
		}
	}
	return nil
}

// rescueReducer turns the panic of a reducer into an error of the task that was being merged.
// Other panics continue. Callers defer it.
func rescueReducer(r *run, err *error) {
	for i := range r.exec.Tasks {
		if t := &r.exec.Tasks[i]; t.Progress == exec.Merging {
			t.Progress = exec.Succeeded
			if v := recover(); v != nil {
				*err = r.nodeError(t, newPanic(v))
			}
			return
		}
	}
}

// mergeError returns the error of a run that could not merge the update of the task in slot i.
func (r *run) mergeError(i int, err error) error {
	var over *state.OverflowError
	if errors.As(err, &over) {
		return r.overflow(i, over)
	}
	var conflict *state.ConflictError
	if !errors.As(err, &conflict) {
		return r.nodeError(&r.exec.Tasks[i], err)
	}
	e := &ConflictError{Graph: r.g.name, Thread: r.thread, Step: r.plan.Step + 1, Field: conflict.Field}
	for k, t := range conflict.Tasks {
		sl := &r.exec.Tasks[t]
		n := &r.g.nodes[sl.Node]
		e.Nodes[k], e.Indexes[k], e.Summaries[k], e.sent[k] = n.id, sl.Index, sl.Summary, n.decode != nil
	}
	return e
}

// overflow returns the error of a sum that the task in slot i made too large for its field.
func (r *run) overflow(i int, over *state.OverflowError) error {
	e := &OverflowError{Graph: r.g.name, Thread: r.thread, Step: r.plan.Step + 1, Field: over.Field, Err: over}
	for k := range r.exec.Tasks[:i+1] {
		sl := &r.exec.Tasks[k]
		n := &r.g.nodes[sl.Node]
		if sl.Progress != exec.Beaten && (k == i || slices.Contains(r.state.changed(k, n), over.Field)) {
			e.Nodes, e.Indexes, e.Summaries = append(e.Nodes, n.id), append(e.Indexes, sl.Index), append(e.Summaries, sl.Summary)
			e.sent = append(e.sent, n.decode != nil)
		}
	}
	return e
}
