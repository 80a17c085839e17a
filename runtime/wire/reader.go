package wire

import "unsafe"

// Reader reads MessagePack values one after the other. Its first error sticks: from then on every method
// returns a zero value, lengths are 0, and [Reader.Err] says what was wrong where. Code that reads checks
// once, at the end; loops over a length that was read also ask [Reader.OK].
//
// Strings are substrings of the input, of which [NewReader] makes one copy: reading many strings costs one
// allocation. A string that is kept keeps all of the input in memory. A Reader is for one goroutine.
type Reader struct {
	s      string // what can still be read, from i on; empty after an error, so that fast paths need not ask
	i      int
	depth  int
	memory int // bytes that may still be allocated for what is read
	drop   bool
	root   string
	whole  string // the input, to find the path of an error in
	err    *Error
}

// A Reader allocates at most memoryFactor bytes for each byte of its input, and memorySlack more, so that small data
// cannot become a large state: an empty struct is one byte of MessagePack, and may be hundreds in memory. Encoders write
// every field, so that what they wrote stays far below the factor; the slack is for fields that the code got since then.
const (
	memoryFactor = 64
	memorySlack  = 64 << 20
)

// NewReader returns a Reader of a copy of b. root is the name of the type that is read, for messages.
func NewReader(root string, b []byte) Reader { return NewStringReader(root, string(b)) }

// NewSharedReader returns a Reader of b itself. b must never be modified after the call, because strings that
// are read share its memory. root is as for NewReader.
func NewSharedReader(root string, b []byte) Reader {
	return NewStringReader(root, unsafe.String(unsafe.SliceData(b), len(b)))
}

// NewStringReader returns a Reader of s, which it shares. root is as for NewReader.
func NewStringReader(root, s string) Reader {
	return Reader{s: s, whole: s, root: root, memory: memorySlack + memoryFactor*len(s)}
}

// DropUnknown makes the Reader skip struct fields that the code does not know, instead of failing.
func (r *Reader) DropUnknown() { r.drop = true }

// OK reports whether nothing has failed yet.
func (r *Reader) OK() bool { return r.err == nil }

// Offset returns how many bytes have been read. It is of no meaning after an error.
func (r *Reader) Offset() int { return r.i }

// Left returns how many bytes have not been read; 0 after an error.
func (r *Reader) Left() int { return len(r.s) - r.i }

// End returns the first error, as Err does; it is also an error when bytes are left.
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

// Fail makes err the Reader's error, at the value that starts at offset. It does nothing after an error.
func (r *Reader) Fail(offset int, err error) {
	if r.err != nil {
		return
	}
	r.i = offset
	r.fail(Invalid, "", "")
	r.err.Cause = err
}

// Damage makes err the Reader's error, as Fail does, and says that the data is not as anything is stored.
func (r *Reader) Damage(offset int, err error) {
	if r.err == nil {
		r.Fail(offset, err)
		r.err.Kind = Damaged
	}
}

// Framed says that what was read up to here is of the form in which things are stored, and not of any code's types: an error in
// it is one of malformed data. It reports whether there is none.
func (r *Reader) Framed() bool {
	if r.err != nil {
		r.err.garbled = true
	}
	return r.err == nil
}

// Recover takes the Reader back to a value that starts at offset and could not be read, and forgets the
// error. What follows is usually Skip.
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

// mismatch fails at the next value, which was to be want.
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

// Peek returns the code of the next value without reading it, and 0xc1, which no value starts with, when
// there is none.
func (r *Reader) Peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0xc1
}

// Nil reads a nil if that is the next value, and reports whether it was.
func (r *Reader) Nil() bool {
	if r.i < len(r.s) && r.s[r.i] == 0xc0 {
		r.i++
		return true
	}
	return false
}
