package cell

import (
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/shape"
)

// head is what the cells of all fields have in common.
type head struct {
	core      *Core
	index     int // among the cells of the core
	field     *shape.Field
	do        cell // the cell that this is the head of
	written   bool
	aged      bool // what an ephemeral field has was there when the superstep began
	untracked bool
	from      string // the wire name that what was read of the field is stored under; empty for nothing

	bytes int    // the encoded length of the value, of a list or map without its header; only while recording
	log   []byte // the operations since the last delta, encoded; only while recording
	ops   int    // how many they are

	epoch    uint64 // the superstep that the tasks below are of; they merge in order
	first    int    // the first task that wrote the field
	rewriter int    // the one that replaced it all; -1 for none
}

// bind makes h the head of the field f, whose cell is x, and adds that to core.
func (h *head) bind(core *Core, f *shape.Field, x cell) {
	h.core, h.index, h.field, h.do = core, len(core.cells), f, x
	core.cells = append(core.cells, h)
	if f.Run {
		core.runs = append(core.runs, h)
	}
	for _, was := range f.Was {
		core.addMark(was, h)
	}
}

// stored reports whether the field has something to store.
func (h *head) stored() bool { return h.written && !h.untracked }

// recording reports whether changes are recorded for a delta.
func (h *head) recording() bool { return h.core.opts.Record && !h.untracked }

// forget forgets the operations since the last delta.
func (h *head) forget() {
	if h.ops > 0 {
		h.log, h.ops = h.log[:0], 0
	}
}

// touch notes that the current task writes the field; rewrite says that nothing of what was there
// stays. It reports whether the task may: no other task of the superstep wrote it, or neither of
// them rewrote it all.
func (h *head) touch(rewrite bool) bool {
	c := h.core
	task := c.task
	if h.epoch != c.epoch {
		h.epoch, h.first, h.rewriter = c.epoch, task, -1
	} else if h.rewriter >= 0 && h.rewriter != task {
		return h.conflict(h.rewriter)
	} else if rewrite && h.first != task {
		return h.conflict(h.first)
	}
	if rewrite {
		h.rewriter = task
	}
	return true
}

func (h *head) conflict(other int) bool {
	h.core.fail(&state.ConflictError{Field: h.field.Name, Tasks: [2]int{other, h.core.task}})
	return false
}

// failed notes that a value of the field cannot be encoded.
func (h *head) failed(err error) { h.core.fail(&state.MergeError{Field: h.field.Name, Err: err}) }

// encodedSize returns how many bytes v takes.
func encodedSize[T any](h *head, codec Codec[T], v *T) int {
	b, err := codec.Append(h.core.buf[:0], v)
	h.core.buf = b
	if err != nil {
		h.failed(err)
		return 0
	}
	return len(b)
}
