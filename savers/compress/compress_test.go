package compress_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/compress"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// put stores payload as the snapshot of a new thread.
func put(t *testing.T, s checkpoint.Saver, thread string, payload []byte) {
	t.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), checkpoint.Append{
		Thread: thread, Open: &checkpoint.Opening{}, End: true,
		Records: []checkpoint.Record{{ID: id, Base: id, Source: checkpoint.Input, Snapshot: true, Payload: payload}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s checkpoint.Saver, thread string) ([]byte, error) {
	t.Helper()
	c, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread})
	return c.Snapshot, err
}

func TestLargePayloadsAreStoredSmaller(t *testing.T) {
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for name, c := range map[string]struct {
		payload []byte
		smaller bool
	}{
		"text":                           {[]byte(strings.Repeat("one more line of text. ", 1000)), true},
		"a short text":                   {[]byte("one line"), false},
		"nothing":                        {[]byte{}, false},
		"bytes that look compressed":     {append(bytes.Clone(magic), "not a frame"...), false},
		"long bytes that look like that": {append(bytes.Clone(magic), bytes.Repeat([]byte("x"), 5000)...), true},
	} {
		t.Run(name, func(t *testing.T) {
			inner := memory.New()
			s, err := compress.New(inner)
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, "t", c.payload)
			if got, err := load(t, s, "t"); err != nil || !bytes.Equal(got, c.payload) {
				t.Fatalf("got %d bytes, %v; want the %d bytes stored", len(got), err, len(c.payload))
			}
			if stored, err := load(t, inner, "t"); err != nil || (len(stored) < len(c.payload)/10) != c.smaller {
				t.Errorf("%d of %d bytes are stored, %v; want less than a tenth: %v", len(stored), len(c.payload), err, c.smaller)
			}
		})
	}
}

func TestPlainThreadsStayReadable(t *testing.T) {
	inner := memory.New()
	want := []byte(strings.Repeat("stored before the saver was wrapped. ", 100))
	put(t, inner, "t", want)
	s, err := compress.New(inner)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := load(t, s, "t"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v; want the %d bytes stored", len(got), err, len(want))
	}
}

// Compress and encrypt compose, also for Prune, which folds through both.
func TestCompressedThenEncrypted(t *testing.T) {
	savertest.Run(t, func(testing.TB) savertest.Storage {
		return savertest.Storage{Open: func() (checkpoint.Saver, error) {
			encrypted, err := encrypt.New(memory.New(), encrypt.Key{ID: "k", Secret: make([]byte, encrypt.SecretSize)})
			if err != nil {
				return nil, err
			}
			return compress.New(encrypted, compress.MinSize(1))
		}}
	}, savertest.Without("each wrapper runs the suite alone; together they differ only where both change payloads",
		savertest.Schemas, savertest.Leases, savertest.Versions, savertest.Listings, savertest.Wakes))
}

// A frame of a few bytes can claim a size of many gigabytes.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	inner := memory.New()
	s, err := compress.New(inner)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		if err := inner.Delete(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		put(t, inner, "t", stored)
		if _, err := load(t, s, "t"); err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("Load of %x returned %v; want ErrDamaged", stored, err)
		}
	})
}
