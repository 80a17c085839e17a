package wire

import (
	"errors"
	"unsafe"
)

// Enter must be called before the value of a recursive type is read, and Leave after it. Enter
// reports whether the value may be read: it fails if the value is nested MaxDepth levels deep.
func (r *Reader) Enter() bool {
	if r.depth >= MaxDepth {
		r.fail(Depth, "", "")
		return false
	}
	r.depth++
	return r.err == nil
}

// Leave ends the level that Enter began.
func (r *Reader) Leave() { r.depth-- }

// ErrDepth is the error of a value that is nested too deeply to be encoded.
var ErrDepth = errors.New("nested more than 1000 levels deep, or a cycle; graphgen stores trees")

// AppendDepth returns ErrDepth if depth has reached MaxDepth. Generated code counts depth while it
// encodes a recursive type.
func AppendDepth(depth int) error {
	if depth >= MaxDepth {
		return ErrDepth
	}
	return nil
}

// MakeSlice returns an empty slice with room for the n elements that the caller reads from r next.
func MakeSlice[T any](r *Reader, n int) []T { return make([]T, 0, Reserve[T](r, n)) }

// MakeMap returns an empty map with room for the n entries that the caller reads from r next.
func MakeMap[K comparable, V any](r *Reader, n int) map[K]V {
	type entry struct {
		_ K
		_ V
	}
	return make(map[K]V, Reserve[entry](r, n))
}

// New returns a new T, which the caller reads from r next.
func New[T any](r *Reader) *T {
	Reserve[T](r, 1)
	return new(T)
}

// Reserve counts the memory of n values of T, which the caller reads from r next, and returns n.
// If that is too much memory for the size of the input, the Reader fails with an error of kind
// Memory, and Reserve returns 0.
func Reserve[T any](r *Reader, n int) int {
	size := int(unsafe.Sizeof(*new(T)))
	if n > 0 && size > r.memory/n {
		r.fail(Memory, "", "")
		return 0
	}
	r.memory -= n * size
	return n
}
