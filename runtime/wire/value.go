package wire

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// AppendTag appends the start of a union's value: the head of a map with one pair, and its key,
// which names the member. The caller must append the member's value next.
func AppendTag(b []byte, tag string) []byte { return AppendString(append(b, 0x81), tag) }

// ErrNotMember reports a union that holds a type it was not declared to hold. Test with errors.Is.
var ErrNotMember = errors.New("which is not in its list; add the type to //graphgen:union and run go generate")

// NotMember returns the error for a union called name that holds v, whose type it was not declared
// to hold.
func NotMember(name string, v any) error {
	return fmt.Errorf("%s holds a value of type %T, %w", name, v, ErrNotMember)
}

// ErrNilMember reports a union that holds a nil pointer. Test with errors.Is.
var ErrNilMember = errors.New("which stored data cannot tell from a union without a value; leave the union nil instead")

// NilMember returns the error for a union called name that holds a nil pointer of type member.
func NilMember(name, member string) error {
	return fmt.Errorf("%s holds a nil %s, %w", name, member, ErrNilMember)
}

// LossyError reports a value that the methods of its type do not give back when they decode what
// they encoded. A resumed run would see another value than the run that merged it.
type LossyError struct {
	Methods string // the methods and their type
	Err     error  // the error of decoding; nil if the decoded value differs
}

func (e *LossyError) Error() string {
	text := e.Methods + " do not give back the value that they stored"
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + "; reduce the value to what they keep before the update, or store it in another type"
}

// Unwrap returns the error of decoding.
func (e *LossyError) Unwrap() error { return e.Err }

// SortedKeys returns the keys of m in ascending order.
func SortedKeys[M ~map[K]V, K cmp.Ordered, V any](m M) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// SortedBools returns the keys of m, false before true.
func SortedBools[M ~map[K]V, K ~bool, V any](m M) []K {
	keys := make([]K, 0, 2)
	for _, k := range []K{false, true} {
		if _, ok := m[k]; ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// Marshal adapts a method like AppendBinary, which appends to a slice, to one like MarshalBinary,
// which returns a new slice.
func Marshal(appendTo func(b []byte) ([]byte, error)) func() ([]byte, error) {
	return func() ([]byte, error) { return appendTo(nil) }
}

// Copy copies a value by encoding and decoding it: it calls unmarshal with the result of marshal.
// It reports whether both succeeded.
func Copy(marshal func() ([]byte, error), unmarshal func(b []byte) error) bool {
	b, err := marshal()
	return err == nil && unmarshal(b) == nil
}

// SameBytes reports whether two values have the same encoding. A value that cannot be encoded is
// the same as no other.
func SameBytes(x, y func() ([]byte, error)) bool {
	a, err := x()
	if err != nil {
		return false
	}
	b, err := y()
	return err == nil && string(a) == string(b)
}

// SameFloat reports whether x and y are the same number, or are both not a number.
func SameFloat[T ~float32 | ~float64 | ~complex64 | ~complex128](x, y T) bool {
	return x == y || x != x && y != y
}

// SameSlice reports whether x and y have the same elements. A nil slice is not the same as an
// empty one.
func SameSlice[S ~[]T, T comparable](x, y S) bool {
	return (x == nil) == (y == nil) && slices.Equal(x, y)
}

// SameMap reports whether x and y have the same entries. A nil map is not the same as an empty
// one.
func SameMap[M ~map[K]V, K, V comparable](x, y M) bool {
	return (x == nil) == (y == nil) && maps.Equal(x, y)
}
