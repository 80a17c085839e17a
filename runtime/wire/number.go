package wire

import "math"

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

// number reads an integer of any form. It returns the bits, and whether the integer is negative.
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

// bits returns the big-endian number of size bytes that begins at bytes after the position.
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

// Int64 reads an integer of any form that fits in an int64.
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

// Uint64 reads an integer of any form that fits in a uint64.
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

// Float64 reads a float of either size. It also accepts an integer that a float64 represents
// exactly, because libraries of languages without integers write those.
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

// Float32 reads a float of either size, or an integer, if a float32 represents it exactly.
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
