package journal

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Each row has a write next to the result of the task, which is the second.
func TestResultsAreThoseOfTheirTasksAndBase(t *testing.T) {
	id := func(b byte) checkpoint.ID { return checkpoint.ID{b} }
	rec := &checkpoint.Record{ID: id(1), Base: id(1), Line: id(2), Step: 3}
	due, other := checkpoint.Task{Node: "a", Index: 1}, checkpoint.Task{Node: "a", Index: 2}
	result := func(task checkpoint.Task, namespace string) checkpoint.Write {
		return checkpoint.Write{Kind: checkpoint.Result, Base: rec.Base, Namespace: namespace, Task: DueKey(rec, namespace, task)}
	}
	change := func(f func(w *checkpoint.Write)) checkpoint.Write {
		w := result(due, "")
		f(&w)
		return w
	}
	for what, before := range map[string]checkpoint.Write{
		"another task":      result(other, ""),
		"another namespace": result(due, Within("", "call")),
		"another base":      change(func(w *checkpoint.Write) { w.Base = id(9) }),
		"a call of Do":      change(func(w *checkpoint.Write) { w.Name = "do" }),
		"a failure":         change(func(w *checkpoint.Write) { w.Kind = checkpoint.Failure }),
	} {
		writes := []checkpoint.Write{before, result(due, ""), result(due, "")}
		results := ResultsAt(writes, rec, "")
		if got := results.Of(due); got != &writes[1] {
			t.Errorf("%s: got %v, want the first result of the task", what, got)
		}
		if got := ResultsAt(writes[:1], rec, "").Of(due); got != nil {
			t.Errorf("%s: got %v, want none", what, got)
		}
	}
	if got := ResultsAt(nil, rec, "").Of(due); got != nil {
		t.Errorf("no writes: got %v, want none", got)
	}
}
