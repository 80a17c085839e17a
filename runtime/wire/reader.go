package wire

import (
	"errors"
	"math"
	"time"
	"unsafe"
)

// Reader reads MessagePack values one after the other. Its first error sticks: from then on every method
// returns a zero value, lengths are 0, and [Reader.Err] says what was wrong where. Code that reads checks
// once, at the end; loops over a length that was read also ask [Reader.OK].
//
// Strings are substrings of one copy of the input, so reading many costs one allocation; a string that
// is kept keeps that copy. A Reader is for one goroutine.
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

// Bool reads a bool.
func (r *Reader) Bool() bool {
	switch r.Peek() {
	case 0xc3:
		r.i++
		return true
	case 0xc2:
		r.i++
		return false
	}
	r.mismatch("bool")
	return false
}

// number reads an integer of any form: its bits, and whether it is negative.
func (r *Reader) number(want string) (bits uint64, negative bool) {
	if r.i >= len(r.s) {
		r.mismatch(want)
		return 0, false
	}
	c := r.s[r.i]
	switch {
	case c < 0x80:
		r.i++
		return uint64(c), false
	case c >= 0xe0:
		r.i++
		return uint64(int8(c)), true
	case c < 0xcc || c > 0xd3:
		r.mismatch(want)
		return 0, false
	}
	size := 1 << (c & 3) // 0xcc to 0xcf are unsigned, 0xd0 to 0xd3 signed, of 1, 2, 4 and 8 bytes
	bits, ok := r.bits(1, size)
	if !ok {
		r.fail(Truncated, want, "the end of the data")
		return 0, false
	}
	r.i += 1 + size
	if c >= 0xd0 {
		shift := 64 - 8*size
		v := int64(bits<<shift) >> shift
		return uint64(v), v < 0
	}
	return bits, false
}

// bits returns the big-endian number of size bytes that stands at bytes after the position.
func (r *Reader) bits(at, size int) (uint64, bool) {
	if len(r.s)-r.i < at+size {
		return 0, false
	}
	s := r.s[r.i+at : r.i+at+size]
	if size == 8 {
		return uint64(s[7]) | uint64(s[6])<<8 | uint64(s[5])<<16 | uint64(s[4])<<24 |
			uint64(s[3])<<32 | uint64(s[2])<<40 | uint64(s[1])<<48 | uint64(s[0])<<56, true
	}
	var v uint64
	for _, c := range []byte(s) {
		v = v<<8 | uint64(c)
	}
	return v, true
}

// Int64 reads an integer of any form that fits.
func (r *Reader) Int64() int64 {
	if r.i < len(r.s) {
		if c := r.s[r.i]; c < 0x80 {
			r.i++
			return int64(c)
		}
	}
	return r.signed("int64", math.MinInt64, math.MaxInt64)
}

func (r *Reader) signed(want string, lo, hi int64) int64 {
	at := r.i
	bits, negative := r.number(want)
	v := int64(bits)
	if (v < 0) != negative || v < lo || v > hi {
		r.i = at
		r.fail(Range, want, formatNumber(bits, negative))
		return 0
	}
	return v
}

// Int reads an integer that fits in an int.
func (r *Reader) Int() int { return int(r.signed("int", math.MinInt, math.MaxInt)) }

// Int8 reads an integer that fits in an int8.
func (r *Reader) Int8() int8 { return int8(r.signed("int8", math.MinInt8, math.MaxInt8)) }

// Int16 reads an integer that fits in an int16.
func (r *Reader) Int16() int16 { return int16(r.signed("int16", math.MinInt16, math.MaxInt16)) }

// Int32 reads an integer that fits in an int32.
func (r *Reader) Int32() int32 { return int32(r.signed("int32", math.MinInt32, math.MaxInt32)) }

// Uint64 reads an integer of any form that is not negative.
func (r *Reader) Uint64() uint64 { return r.unsigned("uint64", math.MaxUint64) }

func (r *Reader) unsigned(want string, hi uint64) uint64 {
	at := r.i
	bits, negative := r.number(want)
	if negative || bits > hi {
		r.i = at
		r.fail(Range, want, formatNumber(bits, negative))
		return 0
	}
	return bits
}

// Uint reads an integer that fits in a uint.
func (r *Reader) Uint() uint { return uint(r.unsigned("uint", math.MaxUint)) }

// Uint8 reads an integer that fits in a uint8.
func (r *Reader) Uint8() uint8 { return uint8(r.unsigned("uint8", math.MaxUint8)) }

// Uint16 reads an integer that fits in a uint16.
func (r *Reader) Uint16() uint16 { return uint16(r.unsigned("uint16", math.MaxUint16)) }

// Uint32 reads an integer that fits in a uint32.
func (r *Reader) Uint32() uint32 { return uint32(r.unsigned("uint32", math.MaxUint32)) }

// Float64 reads a float of either size, or an integer that a float64 holds exactly, as libraries of
// languages without integers write.
func (r *Reader) Float64() float64 {
	switch c := r.Peek(); {
	case c == 0xcb:
		if bits, ok := r.bits(1, 8); ok {
			r.i += 9
			return math.Float64frombits(bits)
		}
		r.fail(Truncated, "float64", "the end of the data")
	case c == 0xca:
		if bits, ok := r.bits(1, 4); ok {
			r.i += 5
			return float64(math.Float32frombits(uint32(bits)))
		}
		r.fail(Truncated, "float64", "the end of the data")
	case c < 0x80 || c >= 0xe0 || c >= 0xcc && c <= 0xd3:
		return r.wholeFloat()
	default:
		r.mismatch("float64")
	}
	return 0
}

// wholeFloat reads an integer as a float64.
func (r *Reader) wholeFloat() float64 {
	at := r.i
	bits, negative := r.number("float64")
	f := float64(bits)
	if negative {
		f = float64(int64(bits))
	}
	if math.Abs(f) > 1<<53 {
		r.i = at
		r.fail(Range, "float64", formatNumber(bits, negative))
		return 0
	}
	return f
}

// Float32 reads a float of either size, or an integer, that a float32 holds exactly.
func (r *Reader) Float32() float32 {
	if r.Peek() == 0xca {
		if bits, ok := r.bits(1, 4); ok {
			r.i += 5
			return math.Float32frombits(uint32(bits))
		}
	}
	at := r.i
	v := r.Float64()
	if f := float32(v); float64(f) == v || v != v {
		return f
	}
	r.i = at
	r.fail(Range, "float32", "a float64 that does not fit")
	return 0
}

// Complex64 reads an array of two floats.
func (r *Reader) Complex64() complex64 {
	if !r.tuple(2, "complex64") {
		return 0
	}
	re := r.Float32()
	return complex(re, r.Float32())
}

// Complex128 reads an array of two floats.
func (r *Reader) Complex128() complex128 {
	if !r.tuple(2, "complex128") {
		return 0
	}
	re := r.Float64()
	return complex(re, r.Float64())
}

// tuple reads the head of an array that must have n elements.
func (r *Reader) tuple(n int, want string) bool {
	at := r.i
	if m := r.length(want, 0x90, 0, 0xdc, 0xdd, 1); m != n && r.err == nil {
		r.i = at
		r.fail(Range, want, "array of "+formatNumber(uint64(m), false))
	}
	return r.err == nil
}

// FixedArray reads the head of an array that must have n elements, as Go's arrays do. It reports whether
// it has.
func (r *Reader) FixedArray(n int) bool {
	return r.tuple(n, "array of "+formatNumber(uint64(n), false))
}

// Str reads a string. It shares the Reader's copy of the input.
func (r *Reader) Str() string {
	if r.i+1 < len(r.s) {
		from := r.i + 1
		var n int
		switch c := r.s[r.i]; {
		case c&0xe0 == 0xa0:
			n = int(c & 0x1f)
		case c == 0xd9:
			from, n = r.i+2, int(r.s[r.i+1])
		default:
			return r.longString()
		}
		if to := from + n; to <= len(r.s) {
			r.i = to
			return r.s[from:to]
		}
	}
	return r.longString()
}

func (r *Reader) longString() string {
	return r.take(r.length("string", 0xa0, 0xd9, 0xda, 0xdb, 1))
}

// Key reads a string that is a map's key: the wire name of a field.
func (r *Reader) Key() string { return r.Str() }

// take returns the next n bytes, which are known to be there.
func (r *Reader) take(n int) string {
	from := r.i
	r.i += n
	return r.s[from:r.i]
}

// Bytes reads binary, or nil as nil. The slice is the caller's.
func (r *Reader) Bytes() []byte {
	if r.Nil() {
		return nil
	}
	n := r.length("bytes", 0, 0xc4, 0xc5, 0xc6, 1)
	if r.err != nil {
		return nil
	}
	return append(make([]byte, 0, n), r.take(n)...)
}

// FixedBytes reads binary of exactly len(dst) bytes into dst.
func (r *Reader) FixedBytes(dst []byte) {
	at := r.i
	n := r.length("bytes", 0, 0xc4, 0xc5, 0xc6, 1)
	if r.err != nil {
		return
	}
	if n != len(dst) {
		r.i = at
		r.fail(Range, formatNumber(uint64(len(dst)), false)+" bytes", formatNumber(uint64(n), false))
		return
	}
	copy(dst, r.take(n))
}

// ArrayLen reads the head of an array and returns how many values follow: never more than there are
// bytes left.
func (r *Reader) ArrayLen() int {
	if r.i < len(r.s) {
		if c := r.s[r.i]; c&0xf0 == 0x90 && int(c&0xf) < len(r.s)-r.i {
			r.i++
			return int(c & 0xf)
		}
	}
	return r.length("array", 0x90, 0, 0xdc, 0xdd, 1)
}

// MapLen reads the head of a map and returns how many pairs of key and value follow: never more than the
// bytes left can hold.
func (r *Reader) MapLen() int {
	if r.i < len(r.s) {
		if c := r.s[r.i]; c&0xf0 == 0x80 && 2*int(c&0xf) < len(r.s)-r.i {
			r.i++
			return int(c & 0xf)
		}
	}
	return r.length("map", 0x80, 0, 0xde, 0xdf, 2)
}

// length reads a head of the family whose short form is fix (0 for none) and whose longer forms are the
// codes (0 for none). Each of the things counted takes least bytes or more, which must be there.
func (r *Reader) length(want string, fix, code8, code16, code32 byte, least int) int {
	c := r.Peek()
	var n uint64
	size, ok := 0, true
	switch {
	case fix == 0xa0 && c&0xe0 == 0xa0:
		n = uint64(c & 0x1f)
	case fix != 0 && fix != 0xa0 && c&0xf0 == fix:
		n = uint64(c & 0xf)
	case c == code8 && code8 != 0:
		size = 1
	case c == code16:
		size = 2
	case c == code32:
		size = 4
	default:
		r.mismatch(want)
		return 0
	}
	if size > 0 {
		n, ok = r.bits(1, size)
	}
	if left := len(r.s) - r.i - 1 - size; !ok || n > uint64(left/least) {
		r.fail(Truncated, want+" of "+formatNumber(n, false), "fewer bytes than that")
		return 0
	}
	r.i += 1 + size
	return int(n)
}

// Time reads a timestamp, in UTC.
func (r *Reader) Time() time.Time {
	switch c := r.Peek(); {
	case c == 0xd6 && r.timestamp(1, 4):
		v, _ := r.bits(2, 4)
		r.i += 6
		return time.Unix(int64(v), 0).UTC()
	case c == 0xd7 && r.timestamp(1, 8):
		v, _ := r.bits(2, 8)
		if nsec := v >> 34; nsec < 1e9 {
			r.i += 10
			return time.Unix(int64(v&(1<<34-1)), int64(nsec)).UTC()
		}
		r.fail(Range, "time", "a nanosecond past the second")
	case c == 0xc7 && r.timestamp(2, 12):
		nsec, _ := r.bits(3, 4)
		sec, _ := r.bits(7, 8)
		if nsec < 1e9 {
			r.i += 15
			return time.Unix(int64(sec), int64(nsec)).UTC()
		}
		r.fail(Range, "time", "a nanosecond past the second")
	default:
		r.mismatch("time")
	}
	return time.Time{}
}

// timestamp reports whether the extension here is a timestamp of size bytes, whose type stands at bytes
// after the position.
func (r *Reader) timestamp(at, size int) bool {
	if len(r.s)-r.i < at+1+size {
		r.fail(Truncated, "time", "the end of the data")
		return false
	}
	return r.s[r.i+at] == 0xff && (at == 1 || int(r.s[r.i+1]) == size)
}

// Skip reads one value of any kind, whatever it holds.
func (r *Reader) Skip() {
	for todo := 1; todo > 0 && r.err == nil; todo-- {
		todo += r.skipHead()
	}
}

// skipHead reads one value and returns how many values are in it, which it leaves to be read.
func (r *Reader) skipHead() int {
	c := r.Peek()
	switch {
	case r.i >= len(r.s):
		r.mismatch("a value")
	case c < 0x80 || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
		r.i++
	case c&0xf0 == 0x80 || c == 0xde || c == 0xdf:
		return 2 * r.MapLen()
	case c&0xf0 == 0x90 || c == 0xdc || c == 0xdd:
		return r.ArrayLen()
	case c&0xe0 == 0xa0 || c >= 0xd9 && c <= 0xdb:
		r.Str()
	case c >= 0xc4 && c <= 0xc6:
		r.take(r.length("bytes", 0, 0xc4, 0xc5, 0xc6, 1))
	case c >= 0xc7 && c <= 0xc9:
		r.skipBytes(1 + 1<<(c-0xc7) + 1 + r.extLen(c))
	case c == 0xca:
		r.skipBytes(5)
	case c == 0xcb:
		r.skipBytes(9)
	case c >= 0xcc && c <= 0xd3:
		r.skipBytes(1 + 1<<(c&3))
	case c >= 0xd4 && c <= 0xd8:
		r.skipBytes(2 + 1<<(c-0xd4))
	default:
		r.mismatch("a value")
	}
	return 0
}

func (r *Reader) extLen(c byte) int {
	n, _ := r.bits(1, 1<<(c-0xc7)) // when it is cut short, so is what skipBytes asks for
	return int(n)
}

func (r *Reader) skipBytes(n int) {
	if n > len(r.s)-r.i {
		r.fail(Truncated, "a value", "the end of the data")
		return
	}
	r.i += n
}

// Raw reads one value of any kind and returns its bytes, which share the Reader's copy of the input.
func (r *Reader) Raw() string {
	from := r.i
	r.Skip()
	if r.err != nil {
		return ""
	}
	return r.s[from:r.i]
}

// Unknown reads the value of a struct field that the code does not know, whose name was just read. It
// fails with an error that is [ErrUnknownField], unless DropUnknown was called.
func (r *Reader) Unknown(name string) {
	if r.drop {
		r.Skip()
		return
	}
	r.fail(Unknown, "", "")
	if r.err.Kind == Unknown && r.err.Found == "" {
		r.err.Found = name
	}
}

// UnknownTag fails at offset: the tag of a union names none of its members.
func (r *Reader) UnknownTag(offset int, union, tag string) {
	if r.err != nil {
		return
	}
	r.i = offset
	r.fail(Unknown, union, tag)
}

// Tag reads the head of a union's value, a map of one pair, and its key, which names the member. The
// member's value is next.
func (r *Reader) Tag(union string) string {
	at := r.i
	if n := r.MapLen(); n != 1 {
		if r.err == nil {
			r.i = at
			r.fail(Mismatch, union+", a map of one", "map of "+formatNumber(uint64(n), false))
		}
		return ""
	}
	return r.Str()
}

// Wire hands the bytes of the next value to decode, a DecodeWire method. An error it returns is the
// Reader's.
func (r *Reader) Wire(decode func(b []byte) error) {
	at := r.i
	raw := r.Raw()
	if r.err == nil {
		r.hand(at, []byte(raw), decode)
	}
}

// Binary reads bytes and hands them to unmarshal, an UnmarshalBinary method. An error it returns is the
// Reader's.
func (r *Reader) Binary(unmarshal func(b []byte) error) {
	at := r.i
	n := r.length("bytes", 0, 0xc4, 0xc5, 0xc6, 1)
	if r.err == nil {
		r.hand(at, []byte(r.take(n)), unmarshal)
	}
}

// Text reads a string and hands it to unmarshal, an UnmarshalText method. An error it returns is the
// Reader's.
func (r *Reader) Text(unmarshal func(b []byte) error) {
	at := r.i
	v := r.Str()
	if r.err == nil {
		r.hand(at, []byte(v), unmarshal)
	}
}

func (r *Reader) hand(at int, b []byte, decode func(b []byte) error) {
	if err := decode(b); err != nil {
		r.Fail(at, err)
	}
}

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
