package cell

import (
	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// slot is the part of a cell that holds a value which is stored as a whole.
type slot[T any] struct {
	head
	codec   Codec[T]
	settler Settler[T] // nil if a value always is its decoded form
	p       *T
}

func (c *slot[T]) bindSlot(core *Core, f *shape.Field, codec Codec[T], p *T, x cell) {
	c.bind(core, f, x)
	c.codec, c.p = codec, p
	c.settler, _ = codec.(Settler[T])
}

// begin starts the merge of u, which is not zero: it clears the field if u does. It reports
// whether there is an operand to merge after that.
func (c *slot[T]) begin(u *rep.Scalar[T]) bool {
	return c.beginClear(u.Cleared()) && u.HasOperand()
}

// beginClear starts the merge of an update that clears the field if first is true. It
// reports whether the task may write the field.
func (c *slot[T]) beginClear(first bool) bool {
	if !c.touch(first) {
		return false
	}
	if first {
		c.clear()
	}
	return true
}

// set gives the field a new value.
func (c *slot[T]) set(v T) {
	*c.p = v
	c.settle()
	c.written, c.aged = true, false
	if !c.recording() {
		return
	}
	c.displace()
	b := wire.AppendInt(c.log[:0], int64(delta.Set))
	from := len(b)
	b, err := c.codec.Append(b, c.p)
	if err != nil {
		c.failed(err)
	}
	c.log, c.ops, c.bytes = b, 1, len(b)-from
}

// clear makes the field one that was never written.
func (c *slot[T]) clear() {
	if c.recording() {
		c.displace()
		c.log, c.ops = append(c.log[:0], byte(delta.Clear), 0xc0), 1
	}
	c.reset()
}

// displace counts the current value as displaced if a delta or snapshot contains it.
func (c *slot[T]) displace() {
	if c.ops == 0 {
		c.core.displace(c.bytes)
	}
}

func (c *slot[T]) appendTo(b []byte) ([]byte, error) { return c.codec.Append(b, c.p) }

func (c *slot[T]) size() int { return c.bytes }

func (c *slot[T]) read(r *wire.Reader) {
	*c.p = *new(T)
	from := r.Offset()
	c.codec.Read(r, c.p)
	c.bytes = r.Offset() - from
	if c.core.opts.DropUnknown && c.recording() && r.OK() {
		c.bytes = encodedSize(&c.head, c.codec, c.p)
	}
}

func (c *slot[T]) apply(*wire.Reader, delta.Op) bool { return false }

func (c *slot[T]) reset() {
	*c.p = *new(T)
	c.written, c.bytes = false, 0
}

func (c *slot[T]) adopt() {
	c.written, c.aged, c.bytes = true, true, 0
	if c.untracked {
		return
	}
	c.written = !c.codec.Equal(c.p, new(T))
	if c.written && c.recording() {
		c.bytes = encodedSize(&c.head, c.codec, c.p)
	}
}

func (c *slot[T]) settle() { settle(&c.head, c.settler, c.p) }

func (c *slot[T]) mark() {
	c.written = true
	if c.recording() {
		c.bytes = encodedSize(&c.head, c.codec, c.p)
	}
}

func (c *slot[T]) share() {}

func (c *slot[T]) cloned(cell) {}
