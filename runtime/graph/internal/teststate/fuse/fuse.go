// Package fuse has a type whose codec panics on command. It is a separate package, because
// graphgen calls MarshalText only for types of other packages.
package fuse

import (
	"sync/atomic"
	"testing"
)

// Fuse panics when it is encoded or decoded, as New says.
type Fuse struct{ when string }

// broken is whether the decoder has changed, so that it reads no Fuse "later" any more.
var broken atomic.Bool

// Break breaks the decoder of each Fuse "later", as another version of a program might. It returns
// the function that mends the decoder, which the end of the test calls too.
func Break(tb testing.TB) (mend func()) {
	tb.Helper()
	broken.Store(true)
	mend = func() { broken.Store(false) }
	tb.Cleanup(mend)
	return mend
}

// New returns a Fuse that panics when it is encoded ("encode") or decoded ("decode"). A Fuse
// "later" panics when it is decoded after a Break. The Fuse "" never panics.
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
	if f.when == "decode" || f.when == "later" && broken.Load() {
		panic("the decoder broke") //nolint:forbidigo // tests want a codec that breaks
	}
	return nil
}
