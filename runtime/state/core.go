package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Core is what the Lives of all states have in common. Generated code embeds one, and binds the cells of the state's
// fields to it in order of their wire names.
type Core struct {
	name    string
	opts    Options
	cells   []*Cell   // in order of wire name
	fading  []fader   // ephemeral fields
	unknown []unknown // in order of wire name
	migrate func(*Old) error
	old     *Old // what was read but is not what the code wants; nil when there is none

	task  int
	epoch uint64 // the superstep, counted from 1
	dead  int    // bytes displaced since the last snapshot
	fresh int    // those of them that no delta has told yet
	err   error
	buf   []byte // to measure in
}

// unknown is a stored field that the code does not have.
type unknown struct {
	name  string
	value *delta.Value
}

// cell is what Core asks of the cell of one field.
type cell interface {
	appendTo(b []byte) ([]byte, error)      // the value, encoded
	size() int                              // the length of that, while recording
	read(r *wire.Reader)                    // replaces the value
	apply(r *wire.Reader, op delta.Op) bool // reads an operand and applies it; false, having read nothing, for an operation of another shape
	reset()                                 // to what was never written
	adopt()                                 // takes note of a value that was put from outside
	share()
}

// fader is a cell that is cleared when its superstep is over.
type fader interface{ fade() }

// Init makes c ready for the cells of a state called name, of which there are n.
func (c *Core) Init(name string, opts Options, n int) {
	c.name, c.opts, c.epoch = name, opts, 1
	c.cells = make([]*Cell, 0, n)
}

// OnMigrate says what to call when a stored field is not of the type that the code wants.
func (c *Core) OnMigrate(migrate func(*Old) error) { c.migrate = migrate }

// Begin starts the merge of a task's update.
func (c *Core) Begin(task int) {
	c.task = task
	c.old = nil
}

// End ends what Begin started and returns the first error.
func (c *Core) End() error { return c.err }

func (c *Core) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Adopt takes note that all fields were set from outside.
func (c *Core) Adopt() {
	c.forget()
	c.unknown, c.old = nil, nil
	for _, h := range c.cells {
		h.log, h.ops = h.log[:0], 0
		h.do.adopt()
	}
}

// forget starts over: nothing was written or displaced.
func (c *Core) forget() {
	c.epoch++
	c.dead, c.fresh, c.err = 0, 0, nil
}

// Share implements [Live].
func (c *Core) Share() {
	for _, h := range c.cells {
		h.do.share()
	}
}

// EndStep implements [Live].
func (c *Core) EndStep() {
	c.epoch++
	for _, f := range c.fading {
		f.fade()
	}
}

// AppendDelta implements [Live].
func (c *Core) AppendDelta(b []byte) ([]byte, error) {
	switch {
	case c.err != nil:
		return b, c.err
	case !c.opts.Record:
		return b, errNotRecording
	}
	changed := 0
	for _, h := range c.cells {
		if h.ops > 0 {
			changed++
		}
	}
	b = wire.AppendMapLen(wire.AppendInt(append(b, 0x92), int64(c.fresh)), changed)
	for _, h := range c.cells {
		if h.ops > 0 {
			b = wire.AppendArrayLen(wire.AppendString(b, h.field.Wire), 2*h.ops)
			b = append(b, h.log...)
		}
	}
	c.stored()
	return b, nil
}

// AppendSnapshot implements [Live].
func (c *Core) AppendSnapshot(b []byte) ([]byte, error) {
	if c.err != nil {
		return b, c.err
	}
	n := len(c.unknown)
	for _, h := range c.cells {
		if h.stored() {
			n++
		}
	}
	b = wire.AppendMapLen(b, n)
	rest := c.unknown
	for _, h := range c.cells {
		if !h.stored() {
			continue
		}
		for len(rest) > 0 && rest[0].name < h.field.Wire {
			b, rest = rest[0].appendTo(b), rest[1:]
		}
		var err error
		if b, err = h.do.appendTo(wire.AppendString(b, h.field.Wire)); err != nil {
			return b, &MergeError{Field: h.field.Name, Err: err}
		}
	}
	for _, u := range rest {
		b = u.appendTo(b)
	}
	c.stored()
	c.dead = 0
	return b, nil
}

func (u unknown) appendTo(b []byte) []byte { return u.value.AppendTo(wire.AppendString(b, u.name)) }

// stored forgets the changes: they have been told.
func (c *Core) stored() {
	for _, h := range c.cells {
		h.log, h.ops = h.log[:0], 0
		h.aged = true
	}
	c.fresh = 0
	c.epoch++
}

// Sizes implements [Live].
func (c *Core) Sizes() (live, dead int) {
	if !c.opts.Record {
		return 0, 0
	}
	n := len(c.unknown)
	for _, h := range c.cells {
		if h.stored() {
			live += wire.SizeString(h.field.Wire) + h.do.size()
			n++
		}
	}
	for _, u := range c.unknown {
		live += wire.SizeString(u.name) + u.value.Size()
	}
	return live + wire.SizeLen(n), c.dead
}

// displace counts the bytes of a value that something else takes the place of.
func (c *Core) displace(n int) {
	c.dead += n
	c.fresh += n
}

// Decode implements [Live].
func (c *Core) Decode(snapshot []byte) error {
	c.forget()
	c.unknown, c.old = nil, nil
	for _, h := range c.cells {
		h.log, h.ops = h.log[:0], 0
		h.do.reset()
	}
	r := wire.NewReader(c.name, snapshot)
	if c.opts.DropUnknown {
		r.DropUnknown()
	}
	next := 0
	for range r.MapLen() {
		if !r.OK() {
			break
		}
		at := r.Offset()
		name := r.Key()
		if h := c.find(name, &next); h != nil {
			c.readField(&r, at, name, h)
		} else {
			c.keepUnknown(&r, at, name)
		}
	}
	if err := r.End(); err != nil {
		return c.decodeError(err)
	}
	return c.migrated()
}

// readField reads the value of a field whose name was read.
func (c *Core) readField(r *wire.Reader, at int, name string, h *Cell) {
	from := r.Offset()
	switch {
	case h.written:
		r.Fail(at, errTwice)
	case h.untracked:
		r.Skip() // it was stored once; now it is what a run makes for itself
	default:
		h.do.read(r)
		if !r.OK() && c.migratable(r) {
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
		r.Fail(at, errTwice)
		return
	}
	raw := r.Raw()
	if r.OK() {
		c.unknown = slices.Insert(c.unknown, i, unknown{name, delta.NewValue(strings.Clone(raw))})
	}
}

func (c *Core) findUnknown(name string) (int, bool) {
	return slices.BinarySearchFunc(c.unknown, name, func(u unknown, name string) int { return cmp.Compare(u.name, name) })
}

// find returns the cell that a wire name belongs to, or nil. next is where the name is most likely found: names come in
// order, as a rule.
func (c *Core) find(name string, next *int) *Cell {
	for i := *next; i < len(c.cells) && i < *next+2; i++ {
		if c.cells[i].field.Wire == name {
			*next = i + 1
			return c.cells[i]
		}
	}
	i, ok := slices.BinarySearchFunc(c.cells, name, func(h *Cell, name string) int { return cmp.Compare(h.field.Wire, name) })
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
	r := delta.NewReader(c.name+" delta", d)
	if c.opts.DropUnknown {
		r.DropUnknown()
	}
	next := 0
	for {
		name, ok := r.Next()
		if !ok {
			break
		}
		h := c.find(name, &next)
		switch {
		case h == nil:
			c.applyUnknown(&r.Reader, name)
		case h.untracked:
			r.Skip()
		case c.old.has(name):
			c.old.apply(&r.Reader, name)
		default:
			c.applyField(&r.Reader, name, h)
		}
	}
	if err := r.End(); err != nil {
		return c.decodeError(err)
	}
	c.dead += r.Dead
	return c.migrated()
}

// applyField applies the operations on a field.
func (c *Core) applyField(r *wire.Reader, name string, h *Cell) {
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
		if !fits || c.migratable(r) {
			c.applyRaw(r, at, n-i, name, h, op)
		}
		return
	}
}

// applyRaw applies an operation that does not fit the field, and those that follow it: left in all, the first of which is op
// and starts at byte at. They were written before the code changed, when the field had another reducer or type. So its value
// is taken through its encoding, where operations follow from what is stored. If what comes of it is not of the code's type, it
// is an old field.
func (c *Core) applyRaw(r *wire.Reader, at, left int, name string, h *Cell, op delta.Op) {
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
	} else if c.migratable(&in) {
		c.keepOld(name, h, v)
	} else {
		r.Fail(at, err)
	}
}

// applyUnknown applies the operations on a field that the code does not have.
func (c *Core) applyUnknown(r *wire.Reader, name string) {
	i, ok := c.findUnknown(name)
	if !ok {
		c.unknown = slices.Insert(c.unknown, i, unknown{strings.Clone(name), new(delta.Value)})
	}
	v := c.unknown[i].value
	for range delta.Ops(r) {
		v.Apply(r)
	}
	if v.Absent() {
		c.unknown = slices.Delete(c.unknown, i, i+1)
	}
}

// decodeError names the field in which something was wrong.
func (c *Core) decodeError(err error) error {
	field := topField(err)
	next := 0
	if h := c.find(field, &next); h != nil {
		field = h.field.Name
	}
	return decodeError(field, err)
}
