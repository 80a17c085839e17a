package cell

import (
	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Core is the part that the Lives of all states have in common. Generated code embeds one, and
// binds the cells of the state's fields to it in order of their wire names.
type Core struct {
	name    string
	deltas  string // what its deltas are called in messages
	opts    Options
	cells   []*head   // in order of wire name
	fading  []fader   // ephemeral fields
	runs    []*head   // fields that the next input clears
	unknown []unknown // in order of wire name
	marks   []mark    // of renamed fields, in order of wire name
	moves   []migration
	old     rep.Old // what was read but is not what the code wants
	newOld  bool    // since Migrate saw old, it has changed

	task  int
	inner bool   // the task is a subgraph, which has merged the update before
	epoch uint64 // the superstep, counted from 1
	dead  int    // bytes displaced since the last snapshot
	fresh int    // those of them that no delta contains yet
	err   error
	buf   []byte // to measure in

	settling Settling

	in delta.Reader // of what is being decoded or applied; empty in between
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
	settle()                                // makes a value that was put from outside its decoded form
	clear()                                 // makes the field unset, and logs that
	mark()                                  // notes that the value was written, though it is what no value is
	share()
	cloned(from cell) // notes that the value is a deep copy, made for this cell, of the one of from
}

// fader is a cell that is cleared when its superstep is over.
type fader interface{ fade() }

// Init prepares c for the n cells of the state called name.
func (c *Core) Init(name string, opts Options, n int) {
	c.name, c.opts, c.epoch = name, opts, 1
	c.cells = make([]*head, 0, n)
}

// Begin starts the merge of a task's update.
func (c *Core) Begin(task int) {
	c.task = task
	c.old, c.newOld = rep.Old{}, false
}

// End ends what Begin started and returns the first error.
func (c *Core) End() error { return c.err }

func (c *Core) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Adopt records that all fields were set without their cells.
func (c *Core) Adopt() {
	c.forget()
	c.unknown, c.old, c.newOld = nil, rep.Old{}, false
	for _, h := range c.cells {
		h.forget()
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

// NewInput implements [Live].
func (c *Core) NewInput() {
	for _, h := range c.runs {
		if h.written {
			h.do.clear()
		}
	}
}

// EndStep implements [Live].
func (c *Core) EndStep() {
	c.epoch++
	for _, f := range c.fading {
		f.fade()
	}
}

// EndEdit implements [Live].
func (c *Core) EndEdit() {
	for _, h := range c.cells {
		h.aged = true
	}
	c.epoch++
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
	for i := range c.marks {
		if m := &c.marks[i]; m.changed() {
			changed++
			if m.told {
				c.displace(m.value.Size())
			}
		}
	}
	b = wire.AppendMapLen(wire.AppendInt(append(b, 0x92), int64(c.fresh)), changed)
	for _, h := range c.cells {
		if h.ops > 0 {
			b = wire.AppendArrayLen(wire.AppendString(b, h.field.Wire), 2*h.ops)
			b = append(b, h.log...)
		}
	}
	for i := range c.marks {
		b = c.marks[i].appendChange(b)
	}
	c.stored()
	return b, nil
}

// AppendSnapshot implements [Live].
func (c *Core) AppendSnapshot(b []byte) ([]byte, error) {
	if c.err != nil {
		return b, c.err
	}
	rest := c.unknownEntries()
	n := len(rest)
	for _, h := range c.cells {
		if h.stored() {
			n++
		}
	}
	b = wire.AppendMapLen(b, n)
	for _, h := range c.cells {
		if !h.stored() {
			continue
		}
		for len(rest) > 0 && rest[0].name < h.field.Wire {
			b, rest = rest[0].appendTo(b), rest[1:]
		}
		var err error
		if b, err = h.do.appendTo(wire.AppendString(b, h.field.Wire)); err != nil {
			return b, &state.MergeError{Field: h.field.Name, Err: err}
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

// stored forgets the changes, because they are stored now.
func (c *Core) stored() {
	for _, h := range c.cells {
		h.forget()
		h.aged = true
	}
	for i := range c.marks {
		c.marks[i].told = c.marks[i].cell.stored()
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
	for _, m := range c.marks {
		if m.cell.stored() {
			live += wire.SizeString(m.name) + m.value.Size()
			n++
		}
	}
	return live + wire.SizeLen(n), c.dead
}

// displace counts the bytes of a value that something else takes the place of.
func (c *Core) displace(n int) {
	c.dead += n
	c.fresh += n
}
