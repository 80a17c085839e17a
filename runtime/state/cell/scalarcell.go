package cell

import (
	"cmp"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// SumField describes a field whose update is a [state.Sum].
type SumField[T state.Number] struct {
	shape.Field
	Codec Codec[T]
}

// SumCell is the cell of a [SumField].
type SumCell[T state.Number] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *SumCell[T]) Bind(core *Core, f *SumField[T], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
}

// Merge applies u, which is not zero.
func (c *SumCell[T]) Merge(u *state.Sum[T]) {
	in := (*rep.Scalar[T])(u)
	if !c.begin(in) {
		return
	}
	total := state.Add(*c.p)
	total.Add(*in.Operand())
	if (*rep.Scalar[T])(&total).Overflow() || in.Overflow() {
		c.core.fail(&state.OverflowError{Field: c.field.Name, Type: c.field.Type, Task: c.core.task})
		return
	}
	c.set(*(*rep.Scalar[T])(&total).Operand())
}

// AppendUpdate writes u, if it changes anything.
func (f *SumField[T]) AppendUpdate(w *UpdateWriter, u *state.Sum[T]) {
	if (*rep.Scalar[T])(u).Overflow() {
		w.refuse(&state.OverflowError{Field: f.Name, Type: f.Type})
		return
	}
	writeScalar(w, &f.Field, rep.Add, f.Codec, (*rep.Scalar[T])(u))
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *SumField[T]) ReadUpdate(r *wire.Reader, u *state.Sum[T]) {
	readScalar(r, rep.Add, f.Codec, (*rep.Scalar[T])(u))
}

// MinField describes a field whose update is a [state.Min].
type MinField[T cmp.Ordered] struct {
	shape.Field
	Codec Codec[T]
}

// MinCell is the cell of a [MinField].
type MinCell[T cmp.Ordered] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *MinCell[T]) Bind(core *Core, f *MinField[T], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
}

// Merge applies u, which is not zero.
func (c *MinCell[T]) Merge(u *state.Min[T]) {
	in := (*rep.Scalar[T])(u)
	if !c.begin(in) {
		return
	}
	if v := *in.Operand(); !c.written || cmp.Less(v, *c.p) {
		c.set(v)
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *MinField[T]) AppendUpdate(w *UpdateWriter, u *state.Min[T]) {
	writeScalar(w, &f.Field, rep.Offer, f.Codec, (*rep.Scalar[T])(u))
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *MinField[T]) ReadUpdate(r *wire.Reader, u *state.Min[T]) {
	readScalar(r, rep.Offer, f.Codec, (*rep.Scalar[T])(u))
}

// MaxField describes a field whose update is a [state.Max].
type MaxField[T cmp.Ordered] struct {
	shape.Field
	Codec Codec[T]
}

// MaxCell is the cell of a [MaxField].
type MaxCell[T cmp.Ordered] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *MaxCell[T]) Bind(core *Core, f *MaxField[T], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
}

// Merge applies u, which is not zero.
func (c *MaxCell[T]) Merge(u *state.Max[T]) {
	in := (*rep.Scalar[T])(u)
	if !c.begin(in) {
		return
	}
	if v := *in.Operand(); !c.written || cmp.Less(*c.p, v) {
		c.set(v)
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *MaxField[T]) AppendUpdate(w *UpdateWriter, u *state.Max[T]) {
	writeScalar(w, &f.Field, rep.Offer, f.Codec, (*rep.Scalar[T])(u))
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *MaxField[T]) ReadUpdate(r *wire.Reader, u *state.Max[T]) {
	readScalar(r, rep.Offer, f.Codec, (*rep.Scalar[T])(u))
}

// OrField describes a field whose update is a [state.Or].
type OrField[T ~bool] struct{ shape.Field }

// OrCell is the cell of a [OrField].
type OrCell[T ~bool] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *OrCell[T]) Bind(core *Core, f *OrField[T], p *T) {
	c.bindSlot(core, &f.Field, Bool[T]{}, p, c)
}

// Merge applies u, which is not zero.
func (c *OrCell[T]) Merge(u *state.Or[T]) {
	in := (*rep.Scalar[T])(u)
	if !c.begin(in) {
		return
	}
	if v := *in.Operand(); !c.written || bool(v && !*c.p) {
		c.set(v)
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *OrField[T]) AppendUpdate(w *UpdateWriter, u *state.Or[T]) {
	writeScalar[T](w, &f.Field, rep.Or, Bool[T]{}, (*rep.Scalar[T])(u))
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *OrField[T]) ReadUpdate(r *wire.Reader, u *state.Or[T]) {
	readScalar[T](r, rep.Or, Bool[T]{}, (*rep.Scalar[T])(u))
}

// AndField describes a field whose update is a [state.And].
type AndField[T ~bool] struct{ shape.Field }

// AndCell is the cell of a [AndField].
type AndCell[T ~bool] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *AndCell[T]) Bind(core *Core, f *AndField[T], p *T) {
	c.bindSlot(core, &f.Field, Bool[T]{}, p, c)
}

// Merge applies u, which is not zero.
func (c *AndCell[T]) Merge(u *state.And[T]) {
	in := (*rep.Scalar[T])(u)
	if !c.begin(in) {
		return
	}
	if v := *in.Operand(); !c.written || bool(!v && *c.p) {
		c.set(v)
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *AndField[T]) AppendUpdate(w *UpdateWriter, u *state.And[T]) {
	writeScalar[T](w, &f.Field, rep.And, Bool[T]{}, (*rep.Scalar[T])(u))
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *AndField[T]) ReadUpdate(r *wire.Reader, u *state.And[T]) {
	readScalar[T](r, rep.And, Bool[T]{}, (*rep.Scalar[T])(u))
}
