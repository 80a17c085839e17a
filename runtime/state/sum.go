package state

import (
	"unsafe"

	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
)

// Number is the constraint on types of a field with the reducer sum.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// Sum is the update of a field with the reducer sum. The zero Sum leaves the field unchanged. The
// amount and the new value of the field must fit in T; otherwise merging returns an
// [*OverflowError]. Floats overflow to infinity instead, as in Go.
type Sum[T Number] rep.Scalar[T]

// Add returns an update that adds n to a field. If the type of the field is not int or float64,
// name it: state.Add[int64](1).
func Add[T Number](n T) Sum[T] { return Sum[T](rep.NewScalar(n)) }

func (u *Sum[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Add adds n to the field. The amounts of several calls are added.
func (u *Sum[T]) Add(n T) {
	v, ok := sum(*u.rep().Operand(), n)
	u.rep().Set(v)
	if !ok {
		u.rep().SetOverflow()
	}
}

// Clear makes the field unset, as before its first write. It discards earlier calls.
func (u *Sum[T]) Clear() { u.rep().Clear() }

// IsZero reports whether u leaves the field unchanged.
func (u *Sum[T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operation of u.
func (u Sum[T]) String() string {
	if u.rep().Overflow() {
		return cleared(u.rep().Cleared(), "add more than fits")
	}
	return format(rep.Add, u.rep())
}

// sum returns a+b, and whether the sum fits in T. A float that overflows is infinity, which fits.
func sum[T Number](a, b T) (c T, ok bool) {
	c = a + b
	var zero, one T = 0, 1
	switch x, y, z := bits(a), bits(b), bits(c); {
	case one/2 != 0: // not an integer
		return c, true
	case (zero-one)/2 == 0: // signed: -1/2
		return c, int64((x^z)&(y^z)) >= 0 // a or b has the sign of the sum
	default:
		return c, z >= x
	}
}

// bits returns the bits of an integer, aligned to the left.
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
