package cell

import (
	"slices"
	"time"
	"unsafe"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Codec writes, reads and compares values of one type. Generated code implements it by types
// without fields. For basic types there are [Str], [Int], [Uint], [Float], [Complex], [Bool],
// [Bytes] and [Time].
type Codec[T any] interface {
	// Append appends v. It returns an error if a value cannot be encoded. The appended bytes then
	// have no meaning.
	Append(b []byte, v *T) ([]byte, error)
	// Read reads a value into v, which is zero. A fault becomes an error of r.
	Read(r *wire.Reader, v *T)
	// Equal compares deeply; nil and empty differ.
	Equal(a, b *T) bool
}

// sorter is a Codec of map keys that sorts them faster than with a function to compare two.
type sorter[K any] interface{ sort(keys []K) }

// Str is the Codec of strings.
type Str[T ~string] struct{}

// Append appends v.
func (Str[T]) Append(b []byte, v *T) ([]byte, error) { return wire.AppendString(b, string(*v)), nil }

// Read reads v.
func (Str[T]) Read(r *wire.Reader, v *T) { *v = T(r.Str()) }

// Equal compares a and b.
func (Str[T]) Equal(a, b *T) bool { return *a == *b }

func (Str[T]) sort(keys []T) { slices.Sort(keys) }

// Int is the Codec of signed integers.
type Int[T ~int | ~int8 | ~int16 | ~int32 | ~int64] struct{}

// Append appends v.
func (Int[T]) Append(b []byte, v *T) ([]byte, error) { return wire.AppendInt(b, int64(*v)), nil }

// Read reads v. It fails if the number does not fit.
func (Int[T]) Read(r *wire.Reader, v *T) {
	switch unsafe.Sizeof(*v) {
	case 1:
		*v = T(r.Int8())
	case 2:
		*v = T(r.Int16())
	case 4:
		*v = T(r.Int32())
	default:
		*v = T(r.Int64())
	}
}

// Equal compares a and b.
func (Int[T]) Equal(a, b *T) bool { return *a == *b }

func (Int[T]) sort(keys []T) { slices.Sort(keys) }

// Uint is the Codec of unsigned integers.
type Uint[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64] struct{}

// Append appends v.
func (Uint[T]) Append(b []byte, v *T) ([]byte, error) { return wire.AppendUint(b, uint64(*v)), nil }

// Read reads v. It fails if the number does not fit.
func (Uint[T]) Read(r *wire.Reader, v *T) {
	switch unsafe.Sizeof(*v) {
	case 1:
		*v = T(r.Uint8())
	case 2:
		*v = T(r.Uint16())
	case 4:
		*v = T(r.Uint32())
	default:
		*v = T(r.Uint64())
	}
}

// Equal compares a and b.
func (Uint[T]) Equal(a, b *T) bool { return *a == *b }

func (Uint[T]) sort(keys []T) { slices.Sort(keys) }

// Float is the Codec of floating-point numbers.
type Float[T ~float32 | ~float64] struct{}

// Append appends v, bit for bit.
func (Float[T]) Append(b []byte, v *T) ([]byte, error) {
	if unsafe.Sizeof(*v) == 4 {
		return wire.AppendFloat32(b, float32(*v)), nil
	}
	return wire.AppendFloat64(b, float64(*v)), nil
}

// Read reads v. It fails if the number does not fit.
func (Float[T]) Read(r *wire.Reader, v *T) {
	if unsafe.Sizeof(*v) == 4 {
		*v = T(r.Float32())
		return
	}
	*v = T(r.Float64())
}

// Equal reports whether a and b are the same number, or neither is a number.
func (Float[T]) Equal(a, b *T) bool { return *a == *b || *a != *a && *b != *b }

// Complex is the Codec of complex numbers.
type Complex[T ~complex64 | ~complex128] struct{}

// Append appends v as an array of its two parts.
func (Complex[T]) Append(b []byte, v *T) ([]byte, error) {
	if unsafe.Sizeof(*v) == 8 {
		return wire.AppendComplex64(b, complex64(*v)), nil
	}
	return wire.AppendComplex128(b, complex128(*v)), nil
}

// Read reads v.
func (Complex[T]) Read(r *wire.Reader, v *T) {
	if unsafe.Sizeof(*v) == 8 {
		*v = T(r.Complex64())
		return
	}
	*v = T(r.Complex128())
}

// Equal compares a and b.
func (Complex[T]) Equal(a, b *T) bool { return *a == *b }

// Bool is the Codec of bools.
type Bool[T ~bool] struct{}

// Append appends v.
func (Bool[T]) Append(b []byte, v *T) ([]byte, error) { return wire.AppendBool(b, bool(*v)), nil }

// Read reads v.
func (Bool[T]) Read(r *wire.Reader, v *T) { *v = T(r.Bool()) }

// Equal compares a and b.
func (Bool[T]) Equal(a, b *T) bool { return *a == *b }

// CompareBools orders false before true, as cmp.Compare orders other map keys.
func CompareBools[T ~bool](a, b T) int {
	switch {
	case a == b:
		return 0
	case bool(b):
		return -1
	}
	return 1
}

// Bytes is the Codec of byte slices, which are written as binary.
type Bytes[T ~[]byte] struct{}

// Append appends v; a nil v as nil.
func (Bytes[T]) Append(b []byte, v *T) ([]byte, error) { return wire.AppendBytes(b, *v), nil }

// Read reads v.
func (Bytes[T]) Read(r *wire.Reader, v *T) { *v = r.Bytes() }

// Equal compares a and b; nil and empty differ.
func (Bytes[T]) Equal(a, b *T) bool {
	return string(*a) == string(*b) && (*a == nil) == (*b == nil)
}

// Time is the Codec of time.Time: the instant, to the nanosecond, read back in UTC.
type Time struct{}

// Append appends v.
func (Time) Append(b []byte, v *time.Time) ([]byte, error) { return wire.AppendTime(b, *v), nil }

// Read reads v.
func (Time) Read(r *wire.Reader, v *time.Time) { *v = r.Time() }

// Equal reports whether a and b are the same instant.
func (Time) Equal(a, b *time.Time) bool { return a.Equal(*b) }
