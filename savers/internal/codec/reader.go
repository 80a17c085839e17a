package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// AppendString appends s with its length.
func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendBytes appends s with its length; nil is not the same as empty.
func AppendBytes(b, s []byte) []byte {
	if s == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(s))+1), s...)
}

// appendNames appends a list of names.
func appendNames(b []byte, names []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		b = AppendString(b, name)
	}
	return b
}

// Reader reads values one after the other. Its first error sticks: from then on every method
// returns a zero value, and Err says what was wrong.
type Reader struct {
	b   []byte
	at  int
	err error
}

// NewReader returns a Reader of b, which it shares.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err returns the first error, or nil.
func (r *Reader) Err() error { return r.err }

// End returns the first error; it is also one when bytes are left.
func (r *Reader) End() error {
	if r.err == nil && r.at < len(r.b) {
		r.fail("bytes after the end")
	}
	return r.err
}

// Offset returns how many bytes have been read.
func (r *Reader) Offset() int { return r.at }

// fail notes the first error, after which nothing more is read.
func (r *Reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: %s", errMalformed, r.at, what)
	}
	r.at = len(r.b)
}

// take returns the next n bytes, or nil when there are not so many.
func (r *Reader) take(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.b)-r.at) {
		r.fail("a value runs past the end")
		return nil
	}
	s := r.b[r.at : r.at+int(n) : r.at+int(n)]
	r.at += int(n)
	return s
}

// rest returns all that is left, never nil without an error.
func (r *Reader) rest() []byte { return r.take(uint64(len(r.b) - r.at)) }

// Skip passes over n bytes.
func (r *Reader) Skip(n int) { r.take(uint64(max(n, 0))) }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if s := r.take(1); s != nil {
		return s[0]
	}
	return 0
}

// ID reads an id.
func (r *Reader) ID() (id checkpoint.ID) {
	copy(id[:], r.take(uint64(len(id))))
	return id
}

// Fixed reads n bytes. It returns fewer after an error. The result shares memory with what the
// Reader reads.
func (r *Reader) Fixed(n int) []byte { return r.take(uint64(n)) }

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	if s := r.take(8); s != nil {
		return binary.LittleEndian.Uint64(s)
	}
	return 0
}

// Uvarint reads a number.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.b[r.at:])
	if n <= 0 {
		r.fail("a number that does not end")
		return 0
	}
	r.at += n
	return v
}

// Varint reads a number that may be negative.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.b[r.at:])
	if n <= 0 {
		r.fail("a number that does not end")
		return 0
	}
	r.at += n
	return v
}

// Int reads a number that fits in an int.
func (r *Reader) Int() int {
	v := r.Uvarint()
	if v > math.MaxInt {
		r.fail("a number that is too large")
		return 0
	}
	return int(v)
}

// uint32 reads a number of up to 32 bits.
func (r *Reader) uint32() uint32 {
	v := r.Uvarint()
	if v > math.MaxUint32 {
		r.fail("a number that is too large")
		return 0
	}
	return uint32(v)
}

// count reads how many values follow, each of size bytes at least.
func (r *Reader) count(size int) int {
	n := r.Uvarint()
	if n > uint64((len(r.b)-r.at)/size) {
		r.fail("more values than bytes")
		return 0
	}
	return int(n)
}

// Count reads how many values follow, each of one byte at least.
func (r *Reader) Count() int { return r.count(1) }

// String reads a string.
func (r *Reader) String() string { return string(r.take(r.Uvarint())) }

// Bytes reads what AppendBytes wrote, and copies it.
func (r *Reader) Bytes() []byte { return bytes.Clone(r.SharedBytes()) }

// SharedBytes reads what AppendBytes wrote. The result shares memory with what the Reader reads.
func (r *Reader) SharedBytes() []byte {
	n := r.Uvarint()
	if n == 0 {
		return nil
	}
	return r.take(n - 1)
}

// skipString skips a string.
func (r *Reader) skipString() { r.take(r.Uvarint()) }

// skipNames skips a list of names.
func (r *Reader) skipNames() {
	for range r.count(1) {
		r.skipString()
	}
}

// names reads a list of names; nil for an empty one.
func (r *Reader) names() []string {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	names := make([]string, n)
	for i := range names {
		names[i] = r.String()
	}
	return names
}
