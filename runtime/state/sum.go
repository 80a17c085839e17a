package state

import (
	"unsafe"

	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
)

// Number is what can be summed up.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// Sum is the update of a field that is added to. The zero Sum leaves the field as it is. What it adds must fit in T, as must
// the field's new value: otherwise merging it returns an [*OverflowError]. Floats overflow to infinity instead, as in Go.
type Sum[T Number] rep.Scalar[T]

// Add returns the update that adds n to a field. For a field of a type that is not int or float64 name that:
// state.Add[int64](1).
func Add[T Number](n T) Sum[T] { return Sum[T](rep.NewScalar(n)) }

func (u *Sum[T]) rep() *rep.Scalar[T] { return (*rep.Scalar[T])(u) }

// Add adds n to the field. Calls add up.
func (u *Sum[T]) Add(n T) {
	v, ok := sum(*u.rep().Operand(), n)
	u.rep().Set(v)
	if !ok {
		u.rep().SetOverflow()
	}
}

// IsZero reports whether u leaves the field as it is.
func (u *Sum[T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u Sum[T]) String() string {
	if u.rep().Overflow() {
		return "add more than fits"
	}
	return format(rep.Add, u.rep())
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
