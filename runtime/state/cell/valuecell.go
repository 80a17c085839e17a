package cell

import (
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// ValueField describes a field whose update is a [Value]: its Reducer is replace, last, first,
// ephemeral or untracked.
type ValueField[T any] struct {
	shape.Field
	Codec Codec[T]    // nil if untracked
	Copy  func(v T) T // copies a slice or map one level; nil if an assignment does
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
func (c *ValueCell[T]) Merge(u *state.Value[T]) {
	in := (*rep.Scalar[T])(u)
	if c.fades && c.core.inner || !c.mayWrite(in) {
		return
	}
	if in.Cleared() {
		c.clear()
	}
	if !in.HasOperand() || c.rule == ruleFirst && c.written {
		return
	}
	v := *in.Operand()
	if c.copy != nil {
		v = c.copy(v)
	}
	c.set(v)
}

// mayWrite notes that the current task writes the field, and reports whether it may.
func (c *ValueCell[T]) mayWrite(u *rep.Scalar[T]) bool {
	switch c.rule {
	case ruleReplace:
		return c.touch(true)
	case ruleFirst:
		return c.touch(u.Cleared())
	default:
		return true
	}
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
func (f *ValueField[T]) AppendUpdate(w *UpdateWriter, u *state.Value[T]) {
	if f.Codec != nil {
		writeScalar(w, &f.Field, rep.Set, f.Codec, (*rep.Scalar[T])(u))
	}
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *ValueField[T]) ReadUpdate(r *wire.Reader, u *state.Value[T]) {
	readScalar(r, rep.Set, f.Codec, (*rep.Scalar[T])(u))
}
