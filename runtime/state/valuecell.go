package state

import (
	"cmp"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// slot is the part of a cell that holds a value which is stored as a whole.
type slot[T any] struct {
	Cell
	codec Codec[T]
	p     *T
	bytes int // the encoded length, while recording; 0 when never written
}

func (c *slot[T]) bindSlot(core *Core, f *Field, codec Codec[T], p *T, x cell) {
	c.bind(core, f, x)
	c.codec, c.p = codec, p
}

// set gives the field a new value.
func (c *slot[T]) set(v T) {
	*c.p = v
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

// displace counts the value that is there as displaced, if a delta or snapshot has told it.
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
		c.bytes = encodedSize(&c.Cell, c.codec, c.p)
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
		c.bytes = encodedSize(&c.Cell, c.codec, c.p)
	}
}

func (c *slot[T]) mark() {
	c.written = true
	if c.recording() {
		c.bytes = encodedSize(&c.Cell, c.codec, c.p)
	}
}

func (c *slot[T]) share() {}

// ValueField describes a field whose update is a [Value]: its Reducer is replace, last, first, ephemeral or untracked.
type ValueField[T any] struct {
	Field
	Codec Codec[T]    // nil when untracked
	Copy  func(v T) T // copies a slice or map one level; nil when assigning does
}

// ValueCell is the cell of a [ValueField].
type ValueCell[T any] struct {
	slot[T]
	copy  func(v T) T
	rule  rule
	fades bool
}

type rule int

const (
	ruleReplace rule = iota
	ruleLast
	ruleFirst
)

// Bind makes c the cell of the field f, whose value is at p.
func (c *ValueCell[T]) Bind(core *Core, f *ValueField[T], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
	c.copy = f.Copy
	switch f.Reducer {
	case "last":
		c.rule = ruleLast
	case "first":
		c.rule = ruleFirst
	case "ephemeral":
		c.fades = true
		core.fading = append(core.fading, c)
	case "untracked":
		c.rule, c.untracked = ruleLast, true
	}
}

// Merge applies u, which is not zero.
func (c *ValueCell[T]) Merge(u *Value[T]) {
	switch {
	case c.fades && c.core.inner, c.rule == ruleReplace && !c.touch(true), c.rule == ruleFirst && c.written:
		return
	}
	if c.copy != nil {
		c.set(c.copy(u.v))
		return
	}
	c.set(u.v)
}

// fade clears a field that was there before the superstep that ends.
func (c *ValueCell[T]) fade() {
	switch {
	case !c.written:
	case c.aged:
		c.clear()
	default:
		c.aged = true
	}
}

// AppendUpdate writes u, if it changes anything and is stored.
func (f *ValueField[T]) AppendUpdate(w *UpdateWriter, u *Value[T]) {
	if f.Codec != nil {
		writeScalar(w, &f.Field, opSet, u.set, f.Codec, &u.v)
	}
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *ValueField[T]) ReadUpdate(r *wire.Reader, u *Value[T]) {
	readScalar(r, opSet, f.Codec, &u.v, &u.set)
}

// EqualUpdate reports whether a and b do the same.
func (f *ValueField[T]) EqualUpdate(a, b *Value[T]) bool {
	if f.Codec == nil {
		return a.set == b.set
	}
	return a.set == b.set && (!a.set || f.Codec.Equal(&a.v, &b.v))
}

// SumField describes a field whose update is a [Sum].
type SumField[T Number] struct {
	Field
	Codec Codec[T]
}

// SumCell is the cell of a [SumField].
type SumCell[T Number] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *SumCell[T]) Bind(core *Core, f *SumField[T], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
}

// Merge applies u, which is not zero.
func (c *SumCell[T]) Merge(u *Sum[T]) {
	v, ok := sum(*c.p, u.v)
	if !ok || u.over {
		c.core.fail(&OverflowError{Field: c.field.Name, Type: c.field.Type, Task: c.core.task})
		return
	}
	c.set(v)
}

// AppendUpdate writes u, if it changes anything.
func (f *SumField[T]) AppendUpdate(w *UpdateWriter, u *Sum[T]) {
	if u.over {
		w.refuse(&OverflowError{Field: f.Name, Type: f.Type})
		return
	}
	writeScalar(w, &f.Field, opAdd, u.set, f.Codec, &u.v)
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *SumField[T]) ReadUpdate(r *wire.Reader, u *Sum[T]) {
	readScalar(r, opAdd, f.Codec, &u.v, &u.set)
}

// EqualUpdate reports whether a and b do the same.
func (f *SumField[T]) EqualUpdate(a, b *Sum[T]) bool {
	return a.set == b.set && a.over == b.over && f.Codec.Equal(&a.v, &b.v)
}

// MinField describes a field whose update is a [Min].
type MinField[T cmp.Ordered] struct {
	Field
	Codec Codec[T]
}

// MinCell is the cell of a [MinField].
type MinCell[T cmp.Ordered] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *MinCell[T]) Bind(core *Core, f *MinField[T], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
}

// Merge applies u, which is not zero.
func (c *MinCell[T]) Merge(u *Min[T]) {
	if !c.written || cmp.Less(u.v, *c.p) {
		c.set(u.v)
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *MinField[T]) AppendUpdate(w *UpdateWriter, u *Min[T]) {
	writeScalar(w, &f.Field, opOffer, u.set, f.Codec, &u.v)
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *MinField[T]) ReadUpdate(r *wire.Reader, u *Min[T]) {
	readScalar(r, opOffer, f.Codec, &u.v, &u.set)
}

// EqualUpdate reports whether a and b do the same.
func (f *MinField[T]) EqualUpdate(a, b *Min[T]) bool {
	return a.set == b.set && f.Codec.Equal(&a.v, &b.v)
}

// MaxField describes a field whose update is a [Max].
type MaxField[T cmp.Ordered] struct {
	Field
	Codec Codec[T]
}

// MaxCell is the cell of a [MaxField].
type MaxCell[T cmp.Ordered] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *MaxCell[T]) Bind(core *Core, f *MaxField[T], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
}

// Merge applies u, which is not zero.
func (c *MaxCell[T]) Merge(u *Max[T]) {
	if !c.written || cmp.Less(*c.p, u.v) {
		c.set(u.v)
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *MaxField[T]) AppendUpdate(w *UpdateWriter, u *Max[T]) {
	writeScalar(w, &f.Field, opOffer, u.set, f.Codec, &u.v)
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *MaxField[T]) ReadUpdate(r *wire.Reader, u *Max[T]) {
	readScalar(r, opOffer, f.Codec, &u.v, &u.set)
}

// EqualUpdate reports whether a and b do the same.
func (f *MaxField[T]) EqualUpdate(a, b *Max[T]) bool {
	return a.set == b.set && f.Codec.Equal(&a.v, &b.v)
}

// OrField describes a field whose update is an [Or].
type OrField[T ~bool] struct{ Field }

// OrCell is the cell of an [OrField].
type OrCell[T ~bool] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *OrCell[T]) Bind(core *Core, f *OrField[T], p *T) {
	c.bindSlot(core, &f.Field, Bool[T]{}, p, c)
}

// Merge applies u, which is not zero.
func (c *OrCell[T]) Merge(u *Or[T]) {
	if !c.written || bool(u.v && !*c.p) {
		c.set(u.v)
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *OrField[T]) AppendUpdate(w *UpdateWriter, u *Or[T]) {
	writeScalar[T](w, &f.Field, opOr, u.set, Bool[T]{}, &u.v)
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *OrField[T]) ReadUpdate(r *wire.Reader, u *Or[T]) {
	readScalar[T](r, opOr, Bool[T]{}, &u.v, &u.set)
}

// EqualUpdate reports whether a and b do the same.
func (f *OrField[T]) EqualUpdate(a, b *Or[T]) bool { return *a == *b }

// AndField describes a field whose update is an [And].
type AndField[T ~bool] struct{ Field }

// AndCell is the cell of an [AndField].
type AndCell[T ~bool] struct{ slot[T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *AndCell[T]) Bind(core *Core, f *AndField[T], p *T) {
	c.bindSlot(core, &f.Field, Bool[T]{}, p, c)
}

// Merge applies u, which is not zero.
func (c *AndCell[T]) Merge(u *And[T]) {
	if !c.written || bool(!u.v && *c.p) {
		c.set(u.v)
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *AndField[T]) AppendUpdate(w *UpdateWriter, u *And[T]) {
	writeScalar[T](w, &f.Field, opAnd, u.set, Bool[T]{}, &u.v)
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *AndField[T]) ReadUpdate(r *wire.Reader, u *And[T]) {
	readScalar[T](r, opAnd, Bool[T]{}, &u.v, &u.set)
}

// EqualUpdate reports whether a and b do the same.
func (f *AndField[T]) EqualUpdate(a, b *And[T]) bool { return *a == *b }

// ReduceField describes a field whose update is a [Reduce].
type ReduceField[T, In any] struct {
	Field
	Codec  Codec[T]
	Input  Codec[In]
	Reduce func(old T, in In) T
}

// ReduceCell is the cell of a [ReduceField].
type ReduceCell[T, In any] struct {
	slot[T]
	reduce func(old T, in In) T
}

// Bind makes c the cell of the field f, whose value is at p.
func (c *ReduceCell[T, In]) Bind(core *Core, f *ReduceField[T, In], p *T) {
	c.bindSlot(core, &f.Field, f.Codec, p, c)
	c.reduce = f.Reduce
}

// Merge applies u, which is not zero.
func (c *ReduceCell[T, In]) Merge(u *Reduce[In]) {
	v := c.reduce(*c.p, u.first)
	for _, in := range u.more {
		v = c.reduce(v, in)
	}
	c.set(v)
}

// AppendUpdate writes u, if it changes anything.
func (f *ReduceField[T, In]) AppendUpdate(w *UpdateWriter, u *Reduce[In]) {
	if !u.set || !w.field(&f.Field, 1+len(u.more)) {
		return
	}
	writeOp(w, &f.Field, opReduce, f.Input, &u.first)
	for i := range u.more {
		writeOp(w, &f.Field, opReduce, f.Input, &u.more[i])
	}
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *ReduceField[T, In]) ReadUpdate(r *wire.Reader, u *Reduce[In]) {
	readOps(r, func(o op) bool {
		if o != opReduce {
			return false
		}
		in := new(In)
		f.Input.Read(r, in)
		u.Reduce(*in)
		return true
	})
}

// EqualUpdate reports whether a and b do the same.
func (f *ReduceField[T, In]) EqualUpdate(a, b *Reduce[In]) bool {
	return a.set == b.set && (!a.set || f.Input.Equal(&a.first, &b.first)) && equalVals(f.Input, a.more, b.more)
}
