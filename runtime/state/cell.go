package state

// Cell is what the cells of all fields have in common.
type Cell struct {
	core      *Core
	field     *Field
	do        cell // the cell that this is the head of
	written   bool
	aged      bool // what an ephemeral field has was there when the superstep began
	untracked bool
	from      string // the wire name that what was read of the field is stored under; empty for nothing

	log []byte // the operations since the last delta, encoded; only while recording
	ops int    // how many they are

	epoch    uint64 // the superstep that the tasks below are of; they merge in order
	first    int    // the first task that wrote the field
	rewriter int    // the one that replaced it all; -1 for none
}

// bind makes h the head of the field f, whose cell is x, and adds that to core.
func (h *Cell) bind(core *Core, f *Field, x cell) {
	h.core, h.field, h.do = core, f, x
	core.cells = append(core.cells, h)
	for _, was := range f.Was {
		core.addMark(was, h)
	}
}

// stored reports whether the field has something to store.
func (h *Cell) stored() bool { return h.written && !h.untracked }

// recording reports whether changes are to be kept for a delta.
func (h *Cell) recording() bool { return h.core.opts.Record && !h.untracked }

// forget forgets the operations since the last delta.
func (h *Cell) forget() {
	if h.ops > 0 {
		h.log, h.ops = h.log[:0], 0
	}
}

// touch notes that the current task writes the field; rewrite says that nothing of what was there stays. It reports
// whether the task may: no other task of the superstep wrote it, or neither of them rewrote it all.
func (h *Cell) touch(rewrite bool) bool {
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

func (h *Cell) conflict(other int) bool {
	h.core.fail(&ConflictError{Field: h.field.Name, Tasks: [2]int{other, h.core.task}})
	return false
}

// failed notes that a value of the field cannot be encoded.
func (h *Cell) failed(err error) { h.core.fail(&MergeError{Field: h.field.Name, Err: err}) }

// encodedSize returns how many bytes v takes.
func encodedSize[T any](h *Cell, codec Codec[T], v *T) int {
	b, err := codec.Append(h.core.buf[:0], v)
	h.core.buf = b
	if err != nil {
		h.failed(err)
		return 0
	}
	return len(b)
}
