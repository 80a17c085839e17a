package rows

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// maxJSONDepth limits how deeply JSON nests. MariaDB has the lowest limit of the databases.
const maxJSONDepth = 28

// appendJSON appends the JSON of a MessagePack value to b, for people and queries. Bytes become
// base64, times RFC 3339, keys of any kind strings, and numbers that JSON does not have strings. A
// value that is nested too deeply for databases becomes "...", and a character that JSON text must
// not hold U+FFFD. Empty input becomes an empty object. The error names the place that is not
// MessagePack.
func appendJSON(b, msgpack []byte) ([]byte, error) {
	if len(msgpack) == 0 {
		return append(b, "{}"...), nil
	}
	r := wire.NewReader("state", msgpack)
	b = appendValue(b, &r, 0)
	return b, r.End()
}

// appendValue appends the next value of r as JSON. It replaces values that are nested too deeply
// by "...".
func appendValue(b []byte, r *wire.Reader, depth int) []byte {
	switch c := r.Peek(); {
	case wire.IsMap(c) || wire.IsArray(c):
		if depth == maxJSONDepth {
			r.Skip()
			return append(b, `"..."`...)
		}
		if wire.IsMap(c) {
			return appendMap(b, r, depth+1)
		}
		return appendArray(b, r, depth+1)
	case wire.IsString(c):
		return appendQuoted(b, r.Str())
	case c == 0xc0:
		r.Nil()
		return append(b, "null"...)
	case c == 0xc2 || c == 0xc3:
		return strconv.AppendBool(b, r.Bool())
	case wire.IsBytes(c):
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), r.Bytes()), '"')
	case c == 0xca:
		return appendFloat(b, float64(r.Float32()), 32)
	case c == 0xcb:
		return appendFloat(b, r.Float64(), 64)
	case c == 0xcf:
		return strconv.AppendUint(b, r.Uint64(), 10)
	case wire.IsInt(c):
		return strconv.AppendInt(b, r.Int64(), 10)
	}
	return appendExtension(b, r)
}

// appendMap appends the next map of r as a JSON object.
func appendMap(b []byte, r *wire.Reader, depth int) []byte {
	b = append(b, '{')
	n := r.MapLen()
	for i := 0; i < n && r.OK(); i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendKey(b, r), ':')
		b = appendValue(b, r, depth)
	}
	return append(b, '}')
}

// appendArray appends the next array of r as a JSON array.
func appendArray(b []byte, r *wire.Reader, depth int) []byte {
	b = append(b, '[')
	n := r.ArrayLen()
	for i := 0; i < n && r.OK(); i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, r, depth)
	}
	return append(b, ']')
}

// appendKey appends a key as a string, whatever it is.
func appendKey(b []byte, r *wire.Reader) []byte {
	if wire.IsString(r.Peek()) {
		return appendQuoted(b, r.Str())
	}
	key := appendValue(nil, r, maxJSONDepth)
	if len(key) > 0 && key[0] == '"' {
		return append(b, key...)
	}
	return append(append(append(b, '"'), key...), '"')
}

// appendExtension appends a time, or the encoded bytes of any other extension.
func appendExtension(b []byte, r *wire.Reader) []byte {
	at := *r
	if t := at.Time(); at.OK() {
		*r = at
		return append(t.AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
	}
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), []byte(r.Raw())), '"')
}

// appendFloat appends a number as JSON. NaN and the infinities are strings.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 0):
		return append(strconv.AppendFloat(append(b, '"'), v, 'g', -1, bits), '"')
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// appendQuoted appends a JSON string.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s { // bytes that are not UTF-8 arrive as U+FFFD
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == 0:
			b = utf8.AppendRune(b, utf8.RuneError) // PostgreSQL cannot hold it
		case c < 0x20 || c == 0x7f:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&0xf])
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}
