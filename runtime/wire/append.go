package wire

import (
	"encoding/binary"
	"math"
	"time"
)

// AppendNil appends nil.
func AppendNil(b []byte) []byte { return append(b, 0xc0) }

// AppendBool appends v.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0xc3)
	}
	return append(b, 0xc2)
}

// AppendInt appends v in the shortest form.
func AppendInt(b []byte, v int64) []byte {
	if v >= -32 && v < 128 {
		return append(b, byte(v))
	}
	return appendLongInt(b, v)
}

func appendLongInt(b []byte, v int64) []byte {
	switch {
	case v >= 0:
		return appendLongUint(b, uint64(v))
	case v >= math.MinInt8:
		return append(b, 0xd0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, 0xd1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(v))
}

// AppendUint appends v in the shortest form.
func AppendUint(b []byte, v uint64) []byte {
	if v < 128 {
		return append(b, byte(v))
	}
	return appendLongUint(b, v)
}

func appendLongUint(b []byte, v uint64) []byte {
	switch {
	case v <= math.MaxUint8:
		return append(b, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xcf), v)
}

// AppendFloat32 appends v and keeps its exact bits.
func AppendFloat32(b []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0xca), math.Float32bits(v))
}

// AppendFloat64 appends v and keeps its exact bits.
func AppendFloat64(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0xcb), math.Float64bits(v))
}

// AppendComplex64 appends v as an array of its two parts.
func AppendComplex64(b []byte, v complex64) []byte {
	return AppendFloat32(AppendFloat32(append(b, 0x92), real(v)), imag(v))
}

// AppendComplex128 appends v as an array of its two parts.
func AppendComplex128(b []byte, v complex128) []byte {
	return AppendFloat64(AppendFloat64(append(b, 0x92), real(v)), imag(v))
}

// AppendString appends v. It keeps bytes that are not UTF-8.
func AppendString(b []byte, v string) []byte {
	if len(v) < 32 {
		return append(append(b, 0xa0|byte(len(v))), v...)
	}
	return append(appendLongLen(b, len(v), 0xd9, 0xda, 0xdb), v...)
}

// AppendBytes appends v as binary. It appends nil if v is nil.
func AppendBytes(b, v []byte) []byte {
	if v == nil {
		return AppendNil(b)
	}
	return append(appendLongLen(b, len(v), 0xc4, 0xc5, 0xc6), v...)
}

// AppendArrayLen appends the head of an array. The caller must append n values next.
func AppendArrayLen(b []byte, n int) []byte {
	if n < 16 {
		return append(b, 0x90|byte(n))
	}
	return appendLongLen(b, n, 0, 0xdc, 0xdd)
}

// AppendMapLen appends the head of a map. The caller must append n pairs of key and value next.
func AppendMapLen(b []byte, n int) []byte {
	if n < 16 {
		return append(b, 0x80|byte(n))
	}
	return appendLongLen(b, n, 0, 0xde, 0xdf)
}

// appendLongLen appends a length that does not fit in the first byte of the head. A code8 of 0
// means that the family has no form with an 8-bit length.
func appendLongLen(b []byte, n int, code8, code16, code32 byte) []byte {
	switch {
	case n <= math.MaxUint8 && code8 != 0:
		return append(b, code8, byte(n))
	case n <= math.MaxUint16:
		return append(b, code16, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, code32), uint32(n))
}

// AppendTime appends v as a MessagePack timestamp: the instant, to the nanosecond. It drops the
// time zone and the monotonic clock reading. It keeps the zero Time.
func AppendTime(b []byte, v time.Time) []byte {
	sec, nsec := v.Unix(), uint64(v.Nanosecond())
	switch {
	case sec >= 0 && sec <= math.MaxUint32 && nsec == 0:
		return binary.BigEndian.AppendUint32(append(b, 0xd6, 0xff), uint32(sec))
	case sec >= 0 && sec < 1<<34:
		return binary.BigEndian.AppendUint64(append(b, 0xd7, 0xff), nsec<<34|uint64(sec))
	}
	b = binary.BigEndian.AppendUint32(append(b, 0xc7, 12, 0xff), uint32(nsec))
	return binary.BigEndian.AppendUint64(b, uint64(sec))
}

// AppendBinary calls marshal, a MarshalBinary method, and appends its result as binary. It returns
// the error of marshal.
func AppendBinary(b []byte, marshal func() ([]byte, error)) ([]byte, error) {
	v, err := marshal()
	if err != nil {
		return b, err
	}
	if v == nil {
		v = []byte{}
	}
	return AppendBytes(b, v), nil
}

// AppendText calls marshal, a MarshalText method, and appends its result as a string. It returns
// the error of marshal.
func AppendText(b []byte, marshal func() ([]byte, error)) ([]byte, error) {
	v, err := marshal()
	if err != nil {
		return b, err
	}
	if len(v) < 32 {
		return append(append(b, 0xa0|byte(len(v))), v...), nil
	}
	return append(appendLongLen(b, len(v), 0xd9, 0xda, 0xdb), v...), nil
}

// SizeString returns the number of bytes that AppendString appends for v.
func SizeString(v string) int {
	switch n := len(v); {
	case n < 32:
		return 1 + n
	case n <= math.MaxUint8:
		return 2 + n
	case n <= math.MaxUint16:
		return 3 + n
	default:
		return 5 + n
	}
}

// SizeLen returns the number of bytes that AppendArrayLen or AppendMapLen appends for n.
func SizeLen(n int) int {
	switch {
	case n < 16:
		return 1
	case n <= math.MaxUint16:
		return 3
	}
	return 5
}
