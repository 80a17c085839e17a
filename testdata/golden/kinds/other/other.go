// Package other has types that another package stores.
package other

import "encoding/binary"

// Point has exported fields only, so other packages can take it apart.
type Point struct{ X, Y float64 }

// Celsius is a declared number.
type Celsius float32

// Packed can only be stored by its own methods.
type Packed struct{ n uint32 }

// Pack returns a Packed of n.
func Pack(n uint32) Packed { return Packed{n} }

// MarshalBinary implements encoding.BinaryMarshaler.
func (p Packed) MarshalBinary() ([]byte, error) { return binary.BigEndian.AppendUint32(nil, p.n), nil }

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (p *Packed) UnmarshalBinary(b []byte) error {
	p.n = binary.BigEndian.Uint32(append(make([]byte, 4-min(4, len(b))), b...))
	return nil
}
