package wire

import "unsafe"

// Reader reads MessagePack values one after the other. Its first error is final: afterwards every
// method returns a zero value, lengths are 0, and [Reader.Err] returns the error with its place.
// Callers check for an error once, at the end. Loops over a length that was read also check
// [Reader.OK].
//
// Strings are substrings of the input. [NewReader] makes one copy of the input, so reading many
// strings costs one allocation. A string that is retained keeps the whole input in memory.
//
// A Reader must not be used concurrently.
type Reader struct {
	s      string // the input that can still be read, from i on; empty after an error, so that fast paths need no check
	i      int
	depth  int
	memory int // bytes that may still be allocated for the values read
	drop   bool
	root   string
	whole  string // the input, for the path of an error
	err    *Error
}

// A Reader allocates at most memoryFactor bytes for each byte of its input, and memorySlack more.
// Small data therefore cannot produce a large state: an empty struct is one byte of MessagePack,
// and may be hundreds in memory. Encoders write every field, so their data stays far below the
// factor. The slack is for fields that were added to the code later.
const (
	memoryFactor = 64
	memorySlack  = 64 << 20
)

// MemoryLimit returns how many bytes a Reader of n bytes may allocate at most.
func MemoryLimit(n int) int { return memorySlack + memoryFactor*n }

// NewReader returns a Reader of a copy of b. Error messages call the value that is read root.
func NewReader(root string, b []byte) Reader { return NewStringReader(root, string(b)) }

// NewSharedReader returns a Reader of b itself. The caller must never modify b after the call,
// because strings that are read share its memory. root is as for NewReader.
func NewSharedReader(root string, b []byte) Reader {
	return NewStringReader(root, unsafe.String(unsafe.SliceData(b), len(b)))
}

// NewStringReader returns a Reader of s. Strings that are read share its memory. root is as for
// NewReader.
func NewStringReader(root, s string) Reader {
	return Reader{s: s, whole: s, root: root, memory: MemoryLimit(len(s))}
}

// DropUnknown makes the Reader skip struct fields that the code does not know. By default they are
// an error.
func (r *Reader) DropUnknown() { r.drop = true }

// OK reports whether no error has occurred.
func (r *Reader) OK() bool { return r.err == nil }

// Offset returns the number of bytes that have been read. It is meaningless after an error.
func (r *Reader) Offset() int { return r.i }

// Left returns the number of bytes that have not been read. It returns 0 after an error.
func (r *Reader) Left() int { return len(r.s) - r.i }

// End returns the first error, as Err does. It also fails if bytes are left.
func (r *Reader) End() error {
	if r.err == nil && r.i < len(r.s) {
		r.fail(Trailing, "the end", "")
	}
	return r.Err()
}

// Err returns the first error, with its path, or nil. The error is an [*Error].
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	if !r.err.placed {
		r.err.placed = true
		r.err.Path = r.root + path(r.whole, r.err.Offset)
		r.err.garbled = r.err.garbled || !wellFormed(r.whole)
	}
	return r.err
}

// Fail makes err the Reader's error, at the value that starts at offset. It does nothing after an
// earlier error.
func (r *Reader) Fail(offset int, err error) {
	if r.err != nil {
		return
	}
	r.i = offset
	r.fail(Invalid, "", "")
	r.err.Cause = err
}

// Damage works like Fail, but marks the data as damaged: well-formed, but not as this module
// stores it.
func (r *Reader) Damage(offset int, err error) {
	if r.err == nil {
		r.Fail(offset, err)
		r.err.Kind = Damaged
	}
}

// Framed marks the end of the part of the data whose form does not depend on the types of the
// program. An error before this point is an error of malformed data. It reports whether there is
// none.
func (r *Reader) Framed() bool {
	if r.err != nil {
		r.err.garbled = true
	}
	return r.err == nil
}

// Recover moves the Reader back to a value that starts at offset and could not be read, and clears
// the error. Callers usually call Skip next.
func (r *Reader) Recover(offset int) {
	r.s, r.i, r.err, r.depth = r.whole, offset, nil, 0
}

func (r *Reader) fail(kind Kind, want, found string) {
	if r.err != nil {
		return
	}
	r.err = &Error{Kind: kind, Offset: r.i, Want: want, Found: found}
	r.s, r.i = "", 0
}

// mismatch fails at the next value; want is the kind that was expected.
func (r *Reader) mismatch(want string) {
	if r.err != nil {
		return
	}
	if r.i >= len(r.s) {
		r.fail(Truncated, want, "the end of the data")
		return
	}
	r.fail(Mismatch, want, describe(r.s[r.i]))
}

// Peek returns the code of the next value without reading it. At the end it returns 0xc1, a code
// that no value starts with.
func (r *Reader) Peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0xc1
}

// Nil reports whether the next value is nil. If so, it reads it.
func (r *Reader) Nil() bool {
	if r.i < len(r.s) && r.s[r.i] == 0xc0 {
		r.i++
		return true
	}
	return false
}
