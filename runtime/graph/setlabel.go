package graph

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// SetLabel gives the thread a label when the superstep of the node that runs under ctx commits,
// for example SetLabel(ctx, "phase", "review"). So lists of threads find the progress of a node:
// see checkpoint.ThreadQuery. An empty value removes the label. The rules for labels are those of
// Label.
//
// The label is stored in the same act as the checkpoint. With OnExit that is the end of the run.
// If several tasks of a superstep set a name, the last task in their order counts. Only a task
// whose result counts sets labels: an attempt that fails, waits or is cancelled, and a task that
// loses its race, set none. An input that takes the place of the tasks sets the labels of those
// whose results it keeps. In the worker of a Queue, a task sees the labels of the thread as its
// worker has loaded them. ThreadLabel returns the new value in later supersteps. The tasks of a
// subgraph with Unstored set labels with the superstep of their call.
//
// It returns a *checkpoint.InvalidError for a name or value that Label refuses, ErrTooManyLabels
// or ErrNoTask. Labels that tasks of this run have set count towards checkpoint.MaxLabels before
// they are stored, too. A run without a thread has no labels and drops the label. SetLabel is safe
// for concurrent use.
func SetLabel(ctx context.Context, name, value string) error {
	err := checkpoint.Thread{Labels: map[string]string{name: value}}.CheckDescription()
	if err == nil && reserved(name) {
		err = &checkpoint.InvalidError{Field: "label", Found: name, Want: fmt.Sprintf("a name that does not begin with %q", ReservedPrefix)}
	}
	if err == nil {
		err = task.SetLabel(ctx, name, value, checkpoint.MaxLabels)
	}
	if err != nil {
		return fmt.Errorf("graph: SetLabel %q: %w", name, err)
	}
	return nil
}

// partsWrites returns the writes of the labels and replies of a task. of is a write about the task
// without its kind, name and payload.
func partsWrites(of checkpoint.Write, t *exec.Task) (writes []checkpoint.Write) {
	for _, name := range slices.Sorted(maps.Keys(t.Parts)) {
		of.Kind, of.Name, of.Payload = checkpoint.Result, name, []byte(t.Parts[name])
		writes = append(writes, of)
	}
	return writes
}

// storedParts returns the labels and replies among the named results of a task; nil for none.
func storedParts(all map[string][]byte) (parts map[string]string) {
	for name, value := range all {
		if strings.HasPrefix(name, task.LabelPart) || strings.HasPrefix(name, journal.ReplyPart) {
			if parts == nil {
				parts = make(map[string]string)
			}
			parts[name] = string(value)
		}
	}
	return parts
}

// stepLabels returns the labels that the tasks of the superstep set; nil for none. Those of a task
// that lost its race do not count.
func (r *run) stepLabels() (labels map[string]string) {
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if t.Progress == exec.Beaten || len(t.Parts) == 0 {
			continue
		}
		for part, value := range t.Parts {
			if name, ok := strings.CutPrefix(part, task.LabelPart); ok {
				if labels == nil {
					labels = make(map[string]string)
				}
				labels[name] = value
			}
		}
	}
	return labels
}

// labelParent makes the task of a call that stores nothing set the labels of the superstep.
func (r *run) labelParent(labels map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if err := SetLabel(r.ctx, name, labels[name]); err != nil {
			return err
		}
	}
	return nil
}
