package cell

import "slices"

// CopyFrom makes c, the Core of a new Live, a copy of from. The state of that Live is a deep copy
// of the state of from's Live.
func (c *Core) CopyFrom(from *Core) {
	c.opts, c.epoch, c.task, c.inner = from.opts, from.epoch, from.task, from.inner
	c.dead, c.fresh, c.err = from.dead, from.fresh, from.err
	c.unknown = slices.Clone(from.unknown)
	for i := range c.marks {
		c.marks[i].told = from.marks[i].told
	}
	for i, h := range c.cells {
		h.clone(from.cells[i])
		h.do.cloned(from.cells[i].do)
	}
}

// clone copies from, the head of the same field in another Live.
func (h *head) clone(from *head) {
	h.written, h.aged, h.from, h.bytes = from.written, from.aged, from.from, from.bytes
	h.epoch, h.first, h.rewriter = from.epoch, from.first, from.rewriter
	h.log, h.ops = slices.Clone(from.log), from.ops
}

// DropUntracked implements [Live].
func (c *Core) DropUntracked() {
	for _, h := range c.cells {
		if h.untracked {
			h.do.reset()
		}
	}
}
