// Package fuse has a type whose codec panics on command. It is a separate package, because
// graphgen calls MarshalText only for types of other packages.
package fuse

// Fuse panics when it is encoded or decoded, as New says.
type Fuse struct{ when string }

// New returns a Fuse that panics when it is encoded ("encode"), when it is decoded ("decode"), or
// never ("").
func New(when string) Fuse { return Fuse{when} }

// MarshalText implements encoding.TextMarshaler.
func (f Fuse) MarshalText() ([]byte, error) {
	if f.when == "encode" {
		panic("the encoder broke") //nolint:forbidigo // tests want a codec that breaks
	}
	return []byte(f.when), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fuse) UnmarshalText(b []byte) error {
	f.when = string(b)
	if f.when == "decode" {
		panic("the decoder broke") //nolint:forbidigo // tests want a codec that breaks
	}
	return nil
}
