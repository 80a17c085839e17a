// Package codecs has types that bring codecs of their own.
package codecs

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

//go:generate go tool graphgen -type=State

// State holds types with codecs of their own, whose parts graphgen could not store.
type State struct {
	Plain   Plain
	Full    Full
	Plains  []Plain          `graph:"append"`
	Fulls   map[string]*Full `graph:"merge"`
	Binary  Binary           `graph:"last"`
	Text    []Text
	Tags    []string `graph:"append"` // see the test of this package, which declares state
	Pointer *Text
}

// Plain has a codec and nothing else.
type Plain struct{ words []string }

// AppendWire writes the words as one string.
func (p *Plain) AppendWire(b []byte) ([]byte, error) {
	for _, word := range p.words {
		if strings.Contains(word, " ") {
			return b, errors.New("a word with a space in it")
		}
	}
	return wire.AppendString(b, strings.Join(p.words, " ")), nil
}

// DecodeWire reads what AppendWire wrote.
func (p *Plain) DecodeWire(b []byte) error {
	r := wire.NewReader("Plain", b)
	p.words = strings.Fields(r.Str())
	if len(p.words) == 0 {
		p.words = nil
	}
	return r.End()
}

// Full has a codec, Clone and Equal.
type Full struct {
	n      *int
	Clones *int `graph:"-"` // counts
}

// AppendWire writes the number.
func (f *Full) AppendWire(b []byte) ([]byte, error) {
	if f.n == nil {
		return wire.AppendNil(b), nil
	}
	return wire.AppendInt(b, int64(*f.n)), nil
}

// DecodeWire reads what AppendWire wrote.
func (f *Full) DecodeWire(b []byte) error {
	r := wire.NewReader("Full", b)
	if !r.Nil() {
		f.n = new(int)
		*f.n = r.Int()
	}
	return r.End()
}

// Clone copies f.
func (f *Full) Clone() Full {
	c := *f
	if f.n != nil {
		n := *f.n
		c.n = &n
	}
	if f.Clones != nil {
		*f.Clones++
	}
	return c
}

// Equal compares the numbers.
func (f Full) Equal(g Full) bool {
	if f.n == nil || g.n == nil {
		return f.n == g.n
	}
	return *f.n == *g.n
}

// Binary is stored by its methods, since a func cannot be.
type Binary struct {
	n uint16
	F func()
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (v *Binary) MarshalBinary() ([]byte, error) { return binary.BigEndian.AppendUint16(nil, v.n), nil }

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (v *Binary) UnmarshalBinary(b []byte) error {
	if len(b) != 2 {
		return errors.New("want two bytes")
	}
	v.n = binary.BigEndian.Uint16(b)
	return nil
}

// Text is stored by its methods, since a channel cannot be.
type Text chan string

// MarshalText implements encoding.TextMarshaler.
func (v Text) MarshalText() ([]byte, error) { return []byte{byte('0' + cap(v))}, nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *Text) UnmarshalText(b []byte) error {
	if len(b) != 1 || b[0] < '0' || b[0] > '9' {
		return errors.New("want a digit")
	}
	*v = make(Text, b[0]-'0')
	return nil
}
