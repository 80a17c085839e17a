package store

import (
	"errors"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// codec encodes and decodes values of T.
type codec[T any] struct {
	append func(t *T, b []byte) ([]byte, error)
	decode func(t *T, b []byte) error
}

func newCodec[T any, P wire.Generated[T]]() codec[T] {
	return codec[T]{
		append: func(t *T, b []byte) ([]byte, error) { return P(t).AppendWire(b) },
		decode: func(t *T, b []byte) error { return P(t).DecodeWire(b) },
	}
}

// field is a stored top-level field, as MessagePack: its name and its value.
type field struct{ name, value string }

// read decodes a value. It returns the top-level fields that T does not have.
func (c codec[T]) read(t *T, b []byte) (unknown []field, err error) {
	for {
		err = c.decode(t, b)
		if err == nil || !errors.Is(err, wire.ErrUnknownField) {
			return unknown, err
		}
		var at *wire.Error
		if !errors.As(err, &at) {
			return unknown, err
		}
		rest, f, ok := without(b, at.Offset)
		if !ok {
			return unknown, err
		}
		unknown, b = append(unknown, f), rest
	}
}

// without returns a map without the entry whose value starts at offset, and that entry.
func without(b []byte, offset int) (rest []byte, f field, ok bool) {
	r := wire.NewReader("value", b)
	n := mapLen(&r)
	first := r.Offset()
	for range n {
		start := r.Offset()
		f.name = r.Raw()
		at := r.Offset()
		f.value = r.Raw()
		if at == offset && r.OK() {
			rest = append(wire.AppendMapLen(nil, n-1), b[first:start]...)
			return append(rest, b[r.Offset():]...), f, true
		}
	}
	return nil, field{}, false
}

// mapLen reads the head of a map. It returns 0 for any other value.
func mapLen(r *wire.Reader) int {
	if c := r.Peek(); c&0xf0 != 0x80 && c != 0xde && c != 0xdf {
		return 0
	}
	return r.MapLen()
}

// write encodes a value, with top-level fields that T does not have.
func (c codec[T]) write(t *T, unknown []field) ([]byte, error) {
	b, err := c.append(t, nil)
	if err != nil || len(unknown) == 0 {
		return b, err
	}
	r := wire.NewReader("value", b)
	n := mapLen(&r)
	out := wire.AppendMapLen(nil, n+len(unknown))
	out = append(out, b[r.Offset():]...)
	for _, f := range unknown {
		out = append(append(out, f.name...), f.value...)
	}
	return out, nil
}
