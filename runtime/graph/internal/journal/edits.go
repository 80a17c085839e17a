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

// Finished reports whether the result of a task that is due at rec, in a namespace, is among the
// writes.
func Finished(writes []checkpoint.Write, rec *checkpoint.Record, namespace string, due checkpoint.Task) bool {
	key := DueKey(rec, namespace, due)
	for i := range writes {
		if IsResult(&writes[i], rec, key) {
			return true
		}
	}
	return false
}

// IsResult reports whether a write is the result of the task of a key, which is due at rec.
func IsResult(w *checkpoint.Write, rec *checkpoint.Record, key string) bool {
	return w.Kind == checkpoint.Result && w.Task == key && w.Name == "" && w.Base == rec.Base
}
