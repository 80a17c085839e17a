package compress_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/compress"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// bomb returns a frame of few bytes with size zeros, a multiple of 128 KiB. If it does not claim
// its size, only its blocks have it.
func bomb(size int, claims bool) []byte {
	const block = 128 << 10
	b := []byte{0x28, 0xb5, 0x2f, 0xfd}
	if claims {
		b = binary.LittleEndian.AppendUint64(append(b, 0xe0), uint64(size)) // one segment, with a size of 8 bytes
	} else {
		b = append(b, 0, 0xa8) // a window of 2 GiB
	}
	for left := size; left > 0; left -= block {
		head := uint32(block<<3 | 1<<1) // a block that repeats one byte
		if left <= block {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	return b
}

func TestAFewStoredBytesCannotTakeMuchMemory(t *testing.T) {
	inner := memory.New()
	s, err := compress.New(inner)
	if err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string][]byte{
		"a frame with its size":          bomb(1<<30, true),
		"a frame without its size":       bomb(1<<30, false),
		"a frame with another size":      append(binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, 1<<20), bomb(1<<30, true)[13:]...),
		"a second frame after a small":   append(bomb(128<<10, true), bomb(1<<30, true)...),
		"a frame with the largest size":  {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"many frames, each with a small": bytes.Repeat(bomb(1<<20, true), 1000),
	} {
		t.Run(name, func(t *testing.T) {
			if err := inner.Delete(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			put(t, inner, "t", stored)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := load(t, s, "t")
			_, plain := compress.Decompress(stored)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, checkpoint.ErrDamaged) || !errors.Is(plain, checkpoint.ErrDamaged) {
				t.Errorf("got %v and %v, want ErrDamaged", err, plain)
			}
			if took, most := after.TotalAlloc-before.TotalAlloc, uint64(2*wire.MemoryLimit(len(stored))); took > most {
				t.Errorf("%d stored bytes took %d bytes of memory, want at most %d", len(stored), took, most)
			}
		})
	}
}

// The payloads are at the border where the saver begins to pad, and far beyond.
func TestPayloadsThatCompressVeryWellAreReadBack(t *testing.T) {
	sizes := []int{wire.MemoryLimit(0), wire.MemoryLimit(0) + 1<<20}
	if !testing.Short() {
		sizes = append(sizes, 4*wire.MemoryLimit(0))
	}
	s, err := compress.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range sizes {
		want := make([]byte, size)
		put(t, s, "t", want)
		if got, err := load(t, s, "t"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("a payload of %d zeros: got %d bytes, %v; want all of them", size, len(got), err)
		}
		if err := s.Delete(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
	}
}
