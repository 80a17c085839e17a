// Package compress wraps a saver and compresses large payloads with zstd (RFC 8878).
//
// A payload is stored compressed if it has at least the smallest size (see [MinSize]) and gets
// smaller. Others stay as they are, so a saver with threads that are not compressed can be wrapped
// at any time. Savers join small deltas of old records into packs, but only deltas that are not
// compressed.
//
// To compress and encrypt, compress first, because encrypted bytes do not get smaller:
//
//	encrypted, err := encrypt.New(saver, key)
//	compressed, err := compress.New(encrypted)
package compress

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/payloads"
)

// Saver is a saver that compresses. It is safe for concurrent use.
type Saver struct{ *payloads.Saver }

// Option configures New.
type Option func(*codec)

// MinSize sets the size in bytes from which payloads are compressed. The default is 1,024.
func MinSize(n int) Option { return func(c *codec) { c.min = n } }

// New returns a saver that keeps its data in inner. Close closes inner.
func New(inner checkpoint.Saver, opts ...Option) (Saver, error) {
	c := &codec{min: 1 << 10}
	for _, o := range opts {
		o(c)
	}
	var err error
	if c.w, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true)); err != nil {
		return Saver{}, fmt.Errorf("compress: %w", err)
	}
	if c.r, err = newReader(0); err != nil {
		return Saver{}, err
	}
	return Saver{payloads.New(inner, c)}, nil
}

// MaxSize is the size in bytes of the largest payload that the saver decompresses. A larger one is
// an ErrDamaged, because a few bytes can claim to be many.
const MaxSize = 1 << 30

// magic begins every zstd frame. A payload that begins so by itself is compressed even if it gets
// larger, so stored bytes are never ambiguous.
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// codec compresses payloads. EncodeAll and DecodeAll are safe for concurrent use, and need no
// Close (https://pkg.go.dev/github.com/klauspost/compress/zstd).
type codec struct {
	min int
	w   *zstd.Encoder
	r   *zstd.Decoder
}

// Seal returns a payload in its stored form.
func (c *codec) Seal(_ payloads.Place, payload []byte) ([]byte, error) {
	ambiguous := bytes.HasPrefix(payload, magic)
	if len(payload) < c.min && !ambiguous {
		return payload, nil
	}
	if len(payload) > MaxSize {
		return nil, fmt.Errorf("compress: a payload of %d bytes; want at most %d", len(payload), MaxSize)
	}
	b := c.w.EncodeAll(payload, nil)
	if len(b) >= len(payload) && !ambiguous {
		return payload, nil
	}
	return bytes.Clone(b), nil // without the room for a larger result
}

// Open returns the payload that Seal was given.
func (c *codec) Open(_ payloads.Place, stored []byte) ([]byte, error) {
	if !bytes.HasPrefix(stored, magic) {
		return stored, nil
	}
	return decode(c.r, stored)
}

// Decompress returns the payload that a saver of this package stored. It is for the options
// ReadableState of SQL savers. The result may share memory with stored.
func Decompress(stored []byte) ([]byte, error) {
	if !bytes.HasPrefix(stored, magic) {
		return stored, nil
	}
	r, err := newReader(1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return decode(r, stored)
}

// newReader returns a decoder for a number of concurrent calls; 0 is one for each processor.
func newReader(concurrency int) (*zstd.Decoder, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(concurrency), zstd.WithDecoderMaxMemory(MaxSize))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return r, nil
}

func decode(r *zstd.Decoder, stored []byte) ([]byte, error) {
	payload, err := r.DecodeAll(stored, nil)
	if err != nil {
		return nil, fmt.Errorf("compress: %w: %w", checkpoint.ErrDamaged, err)
	}
	return payload, nil
}

// Record returns false: compressed payloads do not name their records.
func (c *codec) Record([]byte) (id, before checkpoint.ID, ok bool) { return id, before, false }
