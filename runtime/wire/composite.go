package wire

import "time"

// tuple reads the head of an array that must have n elements. Error messages call the value want;
// an empty want stands for "array of n".
func (r *Reader) tuple(n int, want string) bool {
	at := r.i
	if at < len(r.s) && r.s[at] == byte(0x90|n) && n < 16 && n < len(r.s)-at {
		r.i++
		return true
	}
	if want == "" {
		want = "array of " + formatNumber(uint64(n), false)
	}
	if m := r.length(want, 0x90, 0, 0xdc, 0xdd, 1); m != n && r.err == nil {
		r.i = at
		r.fail(Range, want, "array of "+formatNumber(uint64(m), false))
	}
	return r.err == nil
}

// FixedArray reads the head of an array for a Go array of n elements. It reports whether the
// stored array has n elements; otherwise the Reader fails.
func (r *Reader) FixedArray(n int) bool { return r.tuple(n, "") }

// Str reads a string. The string shares the memory of the Reader's input.
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

// Key reads the key of a map that holds a struct: the wire name of a field.
func (r *Reader) Key() string { return r.Str() }

// take returns the next n bytes. The caller must have checked that n bytes are left.
func (r *Reader) take(n int) string {
	from := r.i
	r.i += n
	return r.s[from:r.i]
}

// Bytes reads binary. It returns nil for a stored nil. The caller owns the slice.
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

// ArrayLen reads the head of an array and returns its number of elements. It fails if fewer bytes
// than elements are left.
func (r *Reader) ArrayLen() int {
	if r.i < len(r.s) {
		if c := r.s[r.i]; c&0xf0 == 0x90 && int(c&0xf) < len(r.s)-r.i {
			r.i++
			return int(c & 0xf)
		}
	}
	return r.length("array", 0x90, 0, 0xdc, 0xdd, 1)
}

// MapLen reads the head of a map and returns its number of pairs. It fails if fewer bytes are left
// than that many pairs take.
func (r *Reader) MapLen() int {
	if r.i < len(r.s) {
		if c := r.s[r.i]; c&0xf0 == 0x80 && 2*int(c&0xf) < len(r.s)-r.i {
			r.i++
			return int(c & 0xf)
		}
	}
	return r.length("map", 0x80, 0, 0xde, 0xdf, 2)
}

// length reads a head and returns its count. The short form of the family is fix; the longer forms
// are the codes. 0 stands for a form that the family lacks. An item takes least bytes or more;
// length fails if fewer are left than the count needs.
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

// Time reads a timestamp and returns it in UTC.
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

// timestamp reports whether the next value is a timestamp of size bytes. The type of the extension
// is at bytes after the position.
func (r *Reader) timestamp(at, size int) bool {
	if len(r.s)-r.i < at+1+size {
		r.fail(Truncated, "time", "the end of the data")
		return false
	}
	return r.s[r.i+at] == 0xff && (at == 1 || int(r.s[r.i+1]) == size)
}
