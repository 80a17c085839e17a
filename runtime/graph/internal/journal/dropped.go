package journal

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// SetDropped notes in the record of an input which due tasks it dropped, in task order.
func SetDropped(meta map[string]string, tasks []checkpoint.Task) {
	b := wire.AppendArrayLen(nil, len(tasks))
	for i := range tasks {
		b = wire.AppendString(wire.AppendArrayLen(b, 2), tasks[i].Node)
		b = wire.AppendUint(b, uint64(tasks[i].Index))
	}
	meta[metaDrop] = string(b)
}

// Dropped returns the tasks that SetDropped noted; nil for none.
func Dropped(meta map[string]string) (tasks []checkpoint.Task, err error) {
	stored, ok := meta[metaDrop]
	if !ok {
		return nil, nil
	}
	in := wire.NewReader("dropped tasks", []byte(stored))
	for range in.ArrayLen() {
		in.FixedArray(2)
		t := checkpoint.Task{Node: in.Str(), Index: in.Uint32()}
		if !in.OK() {
			break
		}
		tasks = append(tasks, t)
	}
	err = in.End()
	in.Framed()
	return tasks, err
}

// SetReleased notes in a record that a release has stored it, which ended what was due.
func SetReleased(meta map[string]string) { meta[metaClosed] = "" }

// Released reports whether SetReleased noted that.
func Released(meta map[string]string) bool {
	_, ok := meta[metaClosed]
	return ok
}
