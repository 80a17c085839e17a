package state

import (
	"cmp"
	"fmt"
	"unsafe"
)

// Number is what can be summed up.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// Value is the update of a field that is set as a whole: one that is replaced, last, first, ephemeral or
// untracked. The zero Value leaves the field as it is.
type Value[T any] struct {
	v   T
	set bool
}

// Set returns the update that sets a field to v. For a field of a named type name that: state.Set[Status]("open").
func Set[T any](v T) Value[T] { return Value[T]{v, true} }

// Set sets the field to v, which may be the zero value. Of several calls the last counts.
func (u *Value[T]) Set(v T) { u.v, u.set = v, true }

// IsZero reports whether u leaves the field as it is.
func (u *Value[T]) IsZero() bool { return !u.set }

// String says what u does.
func (u Value[T]) String() string { return format(u.set, "set", u.v) }

// Sum is the update of a field that is added to. The zero Sum leaves the field as it is. What it adds must fit in T, as must
// what the field comes to: otherwise merging it is an [*OverflowError]. Floats overflow to infinity instead, as in Go.
type Sum[T Number] struct {
	v    T
	set  bool
	over bool // what was added does not fit in T
}

// Add returns the update that adds n to a field. For a field of a type that is not int or float64 name that:
// state.Add[int64](1).
func Add[T Number](n T) Sum[T] { return Sum[T]{v: n, set: true} }

// Add adds n to the field. Calls add up.
func (u *Sum[T]) Add(n T) {
	v, ok := sum(u.v, n)
	u.v, u.set, u.over = v, true, u.over || !ok
}

// sum returns a+b, and whether that fits in T. What a float cannot hold is infinity, and fits.
func sum[T Number](a, b T) (c T, ok bool) {
	c = a + b
	var zero, one T = 0, 1
	switch x, y, z := bits(a), bits(b), bits(c); {
	case one/2 != 0: // no integer
		return c, true
	case (zero-one)/2 == 0: // signed: -1/2
		return c, int64((x^z)&(y^z)) >= 0 // one of a and b has the sign of the sum
	default:
		return c, z >= x
	}
}

// bits returns the bits of an integer, the first of them leftmost.
func bits[T Number](v T) uint64 {
	p := unsafe.Pointer(&v)
	switch unsafe.Sizeof(v) {
	case 1:
		return uint64(*(*uint8)(p)) << 56
	case 2:
		return uint64(*(*uint16)(p)) << 48
	case 4:
		return uint64(*(*uint32)(p)) << 32
	default:
		return *(*uint64)(p)
	}
}

// IsZero reports whether u leaves the field as it is.
func (u *Sum[T]) IsZero() bool { return !u.set }

// String says what u does.
func (u Sum[T]) String() string {
	if u.over {
		return "add more than fits"
	}
	return format(u.set, "add", u.v)
}

// Min is the update of a field that keeps the least of what it is offered. The zero Min leaves the field as it is.
type Min[T cmp.Ordered] struct {
	v   T
	set bool
}

// Offer sets the field to v if that is less than what the field has, or if it has nothing yet.
func (u *Min[T]) Offer(v T) {
	if !u.set || cmp.Less(v, u.v) {
		u.v, u.set = v, true
	}
}

// IsZero reports whether u leaves the field as it is.
func (u *Min[T]) IsZero() bool { return !u.set }

// String says what u does.
func (u Min[T]) String() string { return format(u.set, "offer", u.v) }

// Max is the update of a field that keeps the greatest of what it is offered. The zero Max leaves the field as it is.
type Max[T cmp.Ordered] struct {
	v   T
	set bool
}

// Offer sets the field to v if that is greater than what the field has, or if it has nothing yet.
func (u *Max[T]) Offer(v T) {
	if !u.set || cmp.Less(u.v, v) {
		u.v, u.set = v, true
	}
}

// IsZero reports whether u leaves the field as it is.
func (u *Max[T]) IsZero() bool { return !u.set }

// String says what u does.
func (u Max[T]) String() string { return format(u.set, "offer", u.v) }

// Or is the update of a field that is true once any update was. The zero Or leaves the field as it is.
type Or[T ~bool] struct {
	v   T
	set bool
}

// Or makes the field true if v is; otherwise it stays what it is, and false if it was never written.
func (u *Or[T]) Or(v T) { u.v, u.set = u.v || v, true }

// IsZero reports whether u leaves the field as it is.
func (u *Or[T]) IsZero() bool { return !u.set }

// String says what u does.
func (u Or[T]) String() string { return format(u.set, "or", u.v) }

// And is the update of a field that is true as long as every update was. The zero And leaves the field as it is.
type And[T ~bool] struct {
	v   T
	set bool
}

// And makes the field false if v is; otherwise it stays what it is, and true if it was never written.
func (u *And[T]) And(v T) { u.v, u.set = v && (!T(u.set) || u.v), true }

// IsZero reports whether u leaves the field as it is.
func (u *And[T]) IsZero() bool { return !u.set }

// String says what u does.
func (u And[T]) String() string { return format(u.set, "and", u.v) }

// Reduce is the update of a field with a reducer of its own; In is what that takes. The zero Reduce leaves the field as
// it is.
type Reduce[In any] struct {
	first In
	set   bool
	more  []In
}

// Reduce has the field's reducer merge in. Calls are merged in order.
func (u *Reduce[In]) Reduce(in In) {
	if !u.set {
		u.first, u.set = in, true
		return
	}
	u.more = append(u.more, in)
}

// IsZero reports whether u leaves the field as it is.
func (u *Reduce[In]) IsZero() bool { return !u.set }

// String says what u does.
func (u Reduce[In]) String() string {
	s := format(u.set, "reduce", u.first)
	for _, in := range u.more {
		s += "; " + format(true, "reduce", in)
	}
	return s
}

// format prints an operation and its argument.
func format[T any](set bool, op string, v T) string {
	if !set {
		return ""
	}
	return fmt.Sprintf("%s %+v", op, v)
}
