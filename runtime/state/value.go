package state

import (
	"cmp"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
)

// Value is the update of a field that is set as a whole: replace, last, first, ephemeral or
// untracked. The zero Value leaves the field unchanged.
type Value[T any] rep.Scalar[T]

// Set returns an update that sets a field to v. If the field has a named type, name it:
// state.Set[Status]("open").
func Set[T any](v T) Value[T] { return Value[T](rep.NewScalar(v)) }

func (u *Value[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Set sets the field to v, which may be the zero value. The last of several calls wins.
func (u *Value[T]) Set(v T) { u.rep().Set(v) }

// Clear makes the field unset, as before its first write. It discards earlier calls.
func (u *Value[T]) Clear() { u.rep().Clear() }

// IsZero reports whether u leaves the field unchanged.
func (u *Value[T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operation of u.
func (u Value[T]) String() string { return format(rep.Set, u.rep()) }

// Min is the update of a field that keeps the least value offered. The zero Min leaves the field
// unchanged.
type Min[T cmp.Ordered] rep.Scalar[T]

func (u *Min[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Offer sets the field to v if v is less than the field's value, or if the field was never
// written.
func (u *Min[T]) Offer(v T) {
	if !u.rep().HasOperand() || cmp.Less(v, *u.rep().Operand()) {
		u.rep().Set(v)
	}
}

// Clear makes the field unset, as before its first write. It discards earlier calls.
func (u *Min[T]) Clear() { u.rep().Clear() }

// IsZero reports whether u leaves the field unchanged.
func (u *Min[T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operation of u.
func (u Min[T]) String() string { return format(rep.Offer, u.rep()) }

// Max is the update of a field that keeps the greatest value offered. The zero Max leaves the
// field unchanged.
type Max[T cmp.Ordered] rep.Scalar[T]

func (u *Max[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Offer sets the field to v if v is greater than the field's value, or if the field was never
// written.
func (u *Max[T]) Offer(v T) {
	if !u.rep().HasOperand() || cmp.Less(*u.rep().Operand(), v) {
		u.rep().Set(v)
	}
}

// Clear makes the field unset, as before its first write. It discards earlier calls.
func (u *Max[T]) Clear() { u.rep().Clear() }

// IsZero reports whether u leaves the field unchanged.
func (u *Max[T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operation of u.
func (u Max[T]) String() string { return format(rep.Offer, u.rep()) }

// Or is the update of a field that becomes true with the first true value. The zero Or leaves the
// field unchanged.
type Or[T ~bool] rep.Scalar[T]

func (u *Or[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Or sets the field to true if v is true. Otherwise the field keeps its value; a field that was
// never written becomes false.
func (u *Or[T]) Or(v T) { u.rep().Set(*u.rep().Operand() || v) }

// Clear makes the field unset, as before its first write. It discards earlier calls.
func (u *Or[T]) Clear() { u.rep().Clear() }

// IsZero reports whether u leaves the field unchanged.
func (u *Or[T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operation of u.
func (u Or[T]) String() string { return format(rep.Or, u.rep()) }

// And is the update of a field that stays true until the first false value. The zero And leaves
// the field unchanged.
type And[T ~bool] rep.Scalar[T]

func (u *And[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// And sets the field to false if v is false. Otherwise the field keeps its value; a field that was
// never written becomes true.
func (u *And[T]) And(v T) { u.rep().Set(v && (T(!u.rep().HasOperand()) || *u.rep().Operand())) }

// Clear makes the field unset, as before its first write. It discards earlier calls.
func (u *And[T]) Clear() { u.rep().Clear() }

// IsZero reports whether u leaves the field unchanged.
func (u *And[T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operation of u.
func (u And[T]) String() string { return format(rep.And, u.rep()) }

// Reduce is the update of a field with a custom reducer. In is the type of the reducer's input.
// The zero Reduce leaves the field unchanged.
type Reduce[In any] rep.Inputs[In]

func (u *Reduce[In]) rep() *rep.Inputs[In] { return (*rep.Inputs[In])(u) }

// Reduce passes in to the field's reducer. The inputs of several calls are merged in order.
func (u *Reduce[In]) Reduce(in In) { u.rep().Add(in) }

// Clear makes the field unset, as before its first write. It discards earlier calls.
func (u *Reduce[In]) Clear() { u.rep().Clear() }

// IsZero reports whether u leaves the field unchanged.
func (u *Reduce[In]) IsZero() bool { return u.rep().IsZero() }

// String describes the operations of u.
func (u Reduce[In]) String() string {
	inputs := join(u.rep().Len(), func(i int) string { return say(rep.Reduce, *u.rep().At(i)) })
	return cleared(u.rep().Cleared(), inputs)
}

// format prints the operations of a Scalar.
func format[T any](op rep.Op, u *rep.Scalar[T]) string {
	if !u.HasOperand() {
		return cleared(u.Cleared(), "")
	}
	return cleared(u.Cleared(), say(op, *u.Operand()))
}

// cleared prints Clear, if first is true, and then the operations after it.
func cleared(first bool, after string) string {
	switch {
	case !first:
		return after
	case after == "":
		return fmt.Sprint(rep.Clear)
	}
	return fmt.Sprint(rep.Clear) + "; " + after
}

// say prints an operation and its operand.
func say[T any](op rep.Op, operand T) string { return fmt.Sprintf("%s %+v", op, operand) }
