package state

import (
	"cmp"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
)

// Value is the update of a field that is set as a whole: one that is replaced, last, first, ephemeral or
// untracked. The zero Value leaves the field as it is.
type Value[T any] rep.Scalar[T]

// Set returns the update that sets a field to v. For a field of a named type name that: state.Set[Status]("open").
func Set[T any](v T) Value[T] { return Value[T](rep.NewScalar(v)) }

func (u *Value[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Set sets the field to v, which may be the zero value. Of several calls the last counts.
func (u *Value[T]) Set(v T) { u.rep().Set(v) }

// IsZero reports whether u leaves the field as it is.
func (u *Value[T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u Value[T]) String() string { return format(rep.Set, u.rep()) }

// Min is the update of a field that keeps the least of what it is offered. The zero Min leaves the field as it is.
type Min[T cmp.Ordered] rep.Scalar[T]

func (u *Min[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Offer sets the field to v if that is less than what the field has, or if it has nothing yet.
func (u *Min[T]) Offer(v T) {
	if u.IsZero() || cmp.Less(v, *u.rep().Operand()) {
		u.rep().Set(v)
	}
}

// IsZero reports whether u leaves the field as it is.
func (u *Min[T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u Min[T]) String() string { return format(rep.Offer, u.rep()) }

// Max is the update of a field that keeps the greatest of what it is offered. The zero Max leaves the field as it is.
type Max[T cmp.Ordered] rep.Scalar[T]

func (u *Max[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Offer sets the field to v if that is greater than what the field has, or if it has nothing yet.
func (u *Max[T]) Offer(v T) {
	if u.IsZero() || cmp.Less(*u.rep().Operand(), v) {
		u.rep().Set(v)
	}
}

// IsZero reports whether u leaves the field as it is.
func (u *Max[T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u Max[T]) String() string { return format(rep.Offer, u.rep()) }

// Or is the update of a field that is true once any update was. The zero Or leaves the field as it is.
type Or[T ~bool] rep.Scalar[T]

func (u *Or[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Or makes the field true if v is; otherwise it stays what it is, and false if it was never written.
func (u *Or[T]) Or(v T) { u.rep().Set(*u.rep().Operand() || v) }

// IsZero reports whether u leaves the field as it is.
func (u *Or[T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u Or[T]) String() string { return format(rep.Or, u.rep()) }

// And is the update of a field that is true as long as every update was. The zero And leaves the field as it is.
type And[T ~bool] rep.Scalar[T]

func (u *And[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// And makes the field false if v is; otherwise it stays what it is, and true if it was never written.
func (u *And[T]) And(v T) { u.rep().Set(v && (T(u.IsZero()) || *u.rep().Operand())) }

// IsZero reports whether u leaves the field as it is.
func (u *And[T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u And[T]) String() string { return format(rep.And, u.rep()) }

// Reduce is the update of a field with a reducer of its own; In is what that takes. The zero Reduce leaves the field as
// it is.
type Reduce[In any] rep.Inputs[In]

func (u *Reduce[In]) rep() *rep.Inputs[In] { return (*rep.Inputs[In])(u) }

// Reduce has the field's reducer merge in. Calls are merged in order.
func (u *Reduce[In]) Reduce(in In) { u.rep().Add(in) }

// IsZero reports whether u leaves the field as it is.
func (u *Reduce[In]) IsZero() bool { return u.rep().Len() == 0 }

// String says what u does.
func (u Reduce[In]) String() string {
	return join(u.rep().Len(), func(i int) string { return say(rep.Reduce, *u.rep().At(i)) })
}

// format prints the operation of a Scalar.
func format[T any](op rep.Op, u *rep.Scalar[T]) string {
	if u.IsZero() {
		return ""
	}
	return say(op, *u.Operand())
}

// say prints an operation and its operand.
func say[T any](op rep.Op, operand T) string { return fmt.Sprintf("%s %+v", op, operand) }
