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
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/internal/payloads"
)

// Saver is a saver that compresses. It is safe for concurrent use.
type Saver struct{ *payloads.Saver }

// Option configures New.
type Option func(*codec)

// minSize is the default of MinSize.
const minSize = 1 << 10

// MinSize sets the size in bytes from which payloads are compressed. The default is 1,024.
func MinSize(n int) Option { return func(c *codec) { c.min = n } }

// New returns a saver that keeps its data in inner. Close closes inner.
func New(inner checkpoint.Saver, opts ...Option) (Saver, error) {
	c := &codec{min: minSize}
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

// MaxSize is the size in bytes of the largest payload that the saver stores. The saver returns an
// error for a larger one.
//
// A few stored bytes can claim to be many. So the saver decompresses at most wire.MemoryLimit of
// the stored size, which is 64 bytes for each stored byte and 64 MiB more. Anything beyond is an
// ErrDamaged. A payload that compresses better takes the rest as padding.
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
	b := pad(c.w.EncodeAll(payload, nil), len(payload))
	if len(b) >= len(payload) && !ambiguous {
		return payload, nil
	}
	return bytes.Clone(b), nil // without the room for a larger result
}

// pad appends a skippable frame to b if a decoder would refuse b because it is too short for size
// bytes.
func pad(b []byte, size int) []byte {
	excess := size - wire.MemoryLimit(len(b))
	if excess <= 0 {
		return b
	}
	missing := excess/(wire.MemoryLimit(1)-wire.MemoryLimit(0)) + 1 // bytes after the header of the frame, which adds 8
	b = append(b, 0x50, 0x2a, 0x4d, 0x18)
	return append(binary.LittleEndian.AppendUint32(b, uint32(missing)), make([]byte, missing)...)
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
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(concurrency), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return r, nil
}

// unsized is the size of the largest payload whose frame does not state its size.
const unsized = 255

// decode returns a decompressed payload. It refuses one that claims to be larger than memory
// allows.
func decode(r *zstd.Decoder, stored []byte) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(stored); err != nil {
		return nil, fmt.Errorf("compress: %w: %w", checkpoint.ErrDamaged, err)
	}
	size, limit := uint64(unsized), wire.MemoryLimit(len(stored))
	if h.HasFCS {
		size = h.FrameContentSize
	}
	if size > uint64(limit) {
		return nil, fmt.Errorf("compress: %w: a payload of %d stored bytes claims to have %d; want at most %d; restore the thread from a backup",
			checkpoint.ErrDamaged, len(stored), size, limit)
	}
	payload, err := r.DecodeAll(stored, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("compress: %w: %w", checkpoint.ErrDamaged, err)
	}
	return payload, nil
}

// Record returns false: compressed payloads do not name their records.
func (c *codec) Record([]byte) (id, before checkpoint.ID, ok bool) { return id, before, false }
