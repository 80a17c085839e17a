package cell

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Decode implements [Live].
func (c *Core) Decode(snapshot []byte) error {
	c.forget()
	c.unknown, c.old, c.newOld = nil, rep.Old{}, false
	for _, h := range c.cells {
		h.forget()
		h.from = ""
		if h.written {
			h.do.reset()
		}
	}
	for i := range c.marks {
		c.marks[i].told = false
	}
	c.in.Reader = wire.NewSharedReader(c.name, snapshot)
	defer c.leave()
	r := &c.in.Reader
	if c.opts.DropUnknown {
		r.DropUnknown()
	}
	next := 0
	n := r.MapLen()
	r.Framed()
	for range n {
		at := r.Offset()
		name := r.Key()
		if !r.Framed() {
			break
		}
		if h := c.find(name, &next); h != nil {
			c.readField(r, at, name, h)
		} else {
			c.keepUnknown(r, at, name)
		}
		if !r.OK() {
			break
		}
	}
	if err := r.End(); err != nil {
		return c.decodeError(err)
	}
	return c.migrated()
}

// leave drops what was read, so that the Core does not keep its memory.
func (c *Core) leave() { c.in = delta.Reader{} }

// readField reads the value of a field whose name was read.
func (c *Core) readField(r *wire.Reader, at int, name string, h *head) {
	from := r.Offset()
	switch {
	case h.from == name:
		r.Damage(at, errTwice)
	case !c.claim(r, at, name, h):
	case h.untracked:
		r.Skip() // it was stored once; now it is what a run makes for itself
	default:
		h.do.read(r)
		if !r.OK() && c.migratable(r, h) {
			r.Recover(from)
			c.keepOld(name, h, delta.NewValue(r.Raw()))
			return
		}
		h.written, h.aged = true, true
	}
}

// keepUnknown keeps a stored field that the code does not have.
func (c *Core) keepUnknown(r *wire.Reader, at int, name string) {
	i, twice := c.findUnknown(name)
	if twice {
		r.Damage(at, errTwice)
		return
	}
	raw := r.Raw()
	if !r.OK() || strings.HasPrefix(name, markPrefix) && !c.readMark(r, at, name, markOf(r, at, raw)) {
		return
	}
	c.unknown = slices.Insert(c.unknown, i, unknown{name, delta.NewValue(raw)})
}

func (c *Core) findUnknown(name string) (int, bool) {
	return slices.BinarySearchFunc(c.unknown, name, func(u unknown, name string) int { return cmp.Compare(u.name, name) })
}

// find returns the cell that a wire name belongs to, or nil. next is where the name is most likely
// found: names come in order, as a rule.
func (c *Core) find(name string, next *int) *head {
	for i := *next; i < len(c.cells) && i < *next+2; i++ {
		if c.cells[i].field.Wire == name {
			*next = i + 1
			return c.cells[i]
		}
	}
	i, ok := slices.BinarySearchFunc(c.cells, name, func(h *head, name string) int { return cmp.Compare(h.field.Wire, name) })
	if ok {
		*next = i + 1
		return c.cells[i]
	}
	for _, h := range c.cells {
		if slices.Contains(h.field.Was, name) {
			return h
		}
	}
	return nil
}

// Apply implements [Live].
func (c *Core) Apply(d []byte) error {
	if delta.Empty(d) {
		return nil
	}
	if c.deltas == "" {
		c.deltas = c.name + " delta" // once, and not for each of a long chain
	}
	c.in = delta.NewReader(c.deltas, d)
	defer c.leave()
	r := &c.in
	if c.opts.DropUnknown {
		r.DropUnknown()
	}
	next := 0
	for {
		at := r.Offset()
		name, ok := r.Next()
		if !ok {
			break
		}
		h := c.find(name, &next)
		switch {
		case h == nil:
			c.applyUnknown(&r.Reader, at, name)
		case !c.claim(&r.Reader, at, name, h):
		case h.untracked:
			r.Skip()
		default:
			if old := c.old.Find(name); old != nil {
				c.applyOld(&r.Reader, old)
			} else {
				c.applyField(&r.Reader, name, h)
			}
		}
	}
	if err := r.End(); err != nil {
		return c.decodeError(err)
	}
	c.dead += r.Dead
	return c.migrated()
}

// applyField applies the operations on a field.
func (c *Core) applyField(r *wire.Reader, name string, h *head) {
	h.aged = true
	n := delta.Ops(r)
	for i := range n {
		at := r.Offset()
		op := delta.Op(r.Int())
		fits := true
		switch {
		case !r.OK():
		case op == delta.Clear:
			r.Skip()
			h.do.reset()
		case op == delta.Set:
			h.do.read(r)
			h.written = true
		default:
			fits = h.do.apply(r, op)
		}
		if fits && r.OK() {
			continue
		}
		if !fits || c.migratable(r, h) {
			c.applyRaw(r, at, n-i, name, h, op)
		}
		return
	}
}

// applyRaw applies an operation that does not fit the field, and those that follow it. There are
// left operations. The first is op and starts at byte at. They were written when the field had
// another reducer or type. So applyRaw encodes the value and applies them to its stored form, on
// which they do not depend on types. If the result does not have the type of the code, the field
// is an old field.
func (c *Core) applyRaw(r *wire.Reader, at, left int, name string, h *head, op delta.Op) {
	v := new(delta.Value)
	if h.written && op != delta.Set {
		raw, err := h.do.appendTo(nil)
		if err != nil {
			r.Fail(at, err)
			return
		}
		v = delta.NewValue(string(raw))
	}
	r.Recover(at)
	for range left {
		v.Apply(r)
	}
	if !r.OK() {
		return
	}
	h.do.reset()
	if v.Absent() {
		return
	}
	in := wire.NewStringReader(h.field.Name, string(v.AppendTo(nil)))
	if c.opts.DropUnknown {
		in.DropUnknown()
	}
	h.do.read(&in)
	h.written = true
	if err := in.End(); err == nil {
		return
	} else if c.migratable(&in, h) {
		c.keepOld(name, h, v)
	} else {
		r.Fail(at, err)
	}
}

// applyUnknown applies the operations on a field that the code does not have.
func (c *Core) applyUnknown(r *wire.Reader, at int, name string) {
	i, ok := c.findUnknown(name)
	if !ok {
		c.unknown = slices.Insert(c.unknown, i, unknown{name, new(delta.Value)})
	}
	v := c.unknown[i].value
	for range delta.Ops(r) {
		v.Apply(r)
	}
	gone := v.Absent()
	if strings.HasPrefix(name, markPrefix) && r.OK() {
		if own, ok := c.findMark(name); ok {
			c.marks[own].told = false
		}
		gone = gone || !c.readMark(r, at, name, markOf(r, at, string(v.AppendTo(nil))))
	}
	if gone {
		c.unknown = slices.Delete(c.unknown, i, i+1)
	}
}

// decodeError names the field in which something was wrong.
func (c *Core) decodeError(err error) error {
	field := topField(err)
	var renamed *state.RenameError
	if errors.As(err, &renamed) {
		return decodeError(renamed.Field, err)
	}
	next := 0
	if h := c.find(field, &next); h != nil {
		field = h.field.Name
	}
	return decodeError(field, err)
}
