package wire

import (
	"errors"
	"unsafe"
)

// Enter is called before the value of a recursive type is read, Leave after. It reports whether the
// value may be read: whether it is nested less deeply than MaxDepth.
func (r *Reader) Enter() bool {
	if r.depth >= MaxDepth {
		r.fail(Depth, "", "")
		return false
	}
	r.depth++
	return r.err == nil
}

// Leave ends what Enter began.
func (r *Reader) Leave() { r.depth-- }

// ErrDepth is what AppendDepth fails with.
var ErrDepth = errors.New("nested more than 1000 levels deep, or a cycle; graphgen stores trees")

// AppendDepth returns ErrDepth when depth, which generated code counts while it writes a recursive type,
// has reached MaxDepth.
func AppendDepth(depth int) error {
	if depth >= MaxDepth {
		return ErrDepth
	}
	return nil
}

// MakeSlice returns an empty slice with room for n elements that are read from r next.
func MakeSlice[T any](r *Reader, n int) []T { return make([]T, 0, Reserve[T](r, n)) }

// MakeMap returns an empty map with room for n entries that are read from r next.
func MakeMap[K comparable, V any](r *Reader, n int) map[K]V {
	type entry struct {
		_ K
		_ V
	}
	return make(map[K]V, Reserve[entry](r, n))
}

// New returns a new T that is read from r next.
func New[T any](r *Reader) *T {
	Reserve[T](r, 1)
	return new(T)
}

// Reserve counts the memory of n values of T that are read from r next, and returns n. If that is more than data of the
// size of the input may take, the Reader fails with an error of kind Memory, and Reserve returns 0.
func Reserve[T any](r *Reader, n int) int {
	size := int(unsafe.Sizeof(*new(T)))
	if n > 0 && size > r.memory/n {
		r.fail(Memory, "", "")
		return 0
	}
	r.memory -= n * size
	return n
}
