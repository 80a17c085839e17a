package cell

import (
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// ReduceField describes a field whose update is a [Reduce].
type ReduceField[T, In any] struct {
	shape.Field
	Codec  Codec[T]
	Input  Codec[In]
	Reduce func(old T, in In) T
}

// ReduceCell is the cell of a [ReduceField].
type ReduceCell[T, In any] struct {
	slot[T]
	reduce func(old T, in In) T
	input  Settler[In] // nil if an input always is its decoded form
}

// Bind makes c the cell of the field f, whose value is at p.
func (c *ReduceCell[T, In]) Bind(core *Core, f *ReduceField[T, In], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
	c.reduce = f.Reduce
	c.input, _ = f.Input.(Settler[In])
}

// Merge applies u, which is not zero.
func (c *ReduceCell[T, In]) Merge(u *state.Reduce[In]) {
	inputs := (*rep.Inputs[In])(u)
	if !c.beginClear(inputs.Cleared()) || inputs.Len() == 0 {
		return
	}
	v := *c.p
	for i := range inputs.Len() {
		v = c.reduce(v, *c.settled(inputs.At(i)))
	}
	c.set(v)
}

// settled returns the decoded form of an input.
func (c *ReduceCell[T, In]) settled(in *In) *In {
	if c.input == nil {
		return in
	}
	decoded := *in
	settle(&c.head, c.input, &decoded)
	return &decoded
}

// AppendUpdate writes u, if it changes anything.
func (f *ReduceField[T, In]) AppendUpdate(w *UpdateWriter, u *state.Reduce[In]) {
	inputs := (*rep.Inputs[In])(u)
	if writeClear(w, &f.Field, inputs.Cleared(), inputs.Len()) {
		for i := range inputs.Len() {
			writeOp(w, &f.Field, rep.Reduce, f.Input, inputs.At(i))
		}
	}
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *ReduceField[T, In]) ReadUpdate(r *wire.Reader, u *state.Reduce[In]) {
	readOps(r, func(o rep.Op) bool {
		switch o {
		case rep.Clear:
			r.Skip()
			u.Clear()
		case rep.Reduce:
			in := new(In)
			f.Input.Read(r, in)
			u.Reduce(*in)
		default:
			return false
		}
		return true
	})
}
