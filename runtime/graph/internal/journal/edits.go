package journal

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// EditOf returns the write of an edit in a call. edit is the record of the thread that makes the
// edit, base is the base of the call, and task is EditTask or AboveTask.
func EditOf(edit checkpoint.ID, namespace string, base checkpoint.ID, task string, update []byte) checkpoint.Write {
	return checkpoint.Write{
		Namespace: namespace, Base: base, Task: task, Kind: checkpoint.Result, Name: edit.String(), Payload: update,
	}
}

// Edits returns the edits among the writes of a base, in the call of a namespace. They are in the
// order in which they were made.
func Edits(writes []checkpoint.Write, namespace string, base checkpoint.ID) (edits []checkpoint.Write) {
	for _, w := range writes {
		if w.Kind == checkpoint.Result && w.Namespace == namespace && w.Base == base && (w.Task == EditTask || w.Task == AboveTask) {
			edits = append(edits, w)
		}
	}
	return edits
}

// Results are the stored results of the tasks that are due at a record, in a namespace.
type Results struct {
	rec       *checkpoint.Record
	namespace string
	byKey     map[string]*checkpoint.Write
}

// ResultsAt returns the results among writes of the tasks that are due at rec, in a namespace.
func ResultsAt(writes []checkpoint.Write, rec *checkpoint.Record, namespace string) Results {
	byKey := make(map[string]*checkpoint.Write)
	for i := range writes {
		w := &writes[i]
		if w.Kind == checkpoint.Result && w.Name == "" && w.Base == rec.Base && byKey[w.Task] == nil {
			byKey[w.Task] = w
		}
	}
	return Results{rec, namespace, byKey}
}

// Of returns the result of a due task, or nil.
func (r Results) Of(due checkpoint.Task) *checkpoint.Write {
	return r.byKey[DueKey(r.rec, r.namespace, due)]
}
