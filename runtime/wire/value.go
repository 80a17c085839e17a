package wire

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// AppendTag appends the head of a union's value: a map of one, and its key, which names the member. The member's value
// must follow.
func AppendTag(b []byte, tag string) []byte { return AppendString(append(b, 0x81), tag) }

// ErrNotMember is in the error of a union that holds a type it was not declared to hold. Test with errors.Is.
var ErrNotMember = errors.New("holds a type that is not in its list; add it to //graphgen:union and run go generate")

// NotMember returns the error of a union called name that holds a type it was not declared to hold.
func NotMember(name string) error { return fmt.Errorf("%s %w", name, ErrNotMember) }

// SortedKeys returns the keys of m in their order.
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

// Marshal returns what appends to a slice as a function that returns a slice, as MarshalBinary is one.
func Marshal(appendTo func(b []byte) ([]byte, error)) func() ([]byte, error) {
	return func() ([]byte, error) { return appendTo(nil) }
}

// Copy copies a value by writing and reading it: unmarshal gets what marshal returns. It reports whether both
// did without an error.
func Copy(marshal func() ([]byte, error), unmarshal func(b []byte) error) bool {
	b, err := marshal()
	return err == nil && unmarshal(b) == nil
}

// SameBytes reports whether two values are written as the same bytes. One that cannot be written is the same as none.
func SameBytes(x, y func() ([]byte, error)) bool {
	a, err := x()
	if err != nil {
		return false
	}
	b, err := y()
	return err == nil && string(a) == string(b)
}

// SameFloat reports whether x and y are the same number, or neither is a number.
func SameFloat[T ~float32 | ~float64 | ~complex64 | ~complex128](x, y T) bool {
	return x == y || x != x && y != y
}

// SameSlice reports whether x and y have the same elements. A nil slice is not the same as an empty one.
func SameSlice[S ~[]T, T comparable](x, y S) bool {
	return (x == nil) == (y == nil) && slices.Equal(x, y)
}

// SameMap reports whether x and y have the same entries. A nil map is not the same as an empty one.
func SameMap[M ~map[K]V, K, V comparable](x, y M) bool {
	return (x == nil) == (y == nil) && maps.Equal(x, y)
}
