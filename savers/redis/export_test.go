package redis

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Packing is an option that says when records are packed.
func Packing(p pack.Policy) Option { return func(s *Saver) { s.packing = p } }

// Pack packs the old records of a thread now, as the end of a run does.
func Pack(ctx context.Context, s *Saver, thread string) error {
	return s.pack(ctx, job{thread: thread, all: true})
}

// The decoders, for tests of package redis_test.
var (
	ParseSeqs  = parseSeqs
	FormatSeqs = formatSeqs
)

// Key returns the key of a thread.
func Key(prefix, thread string) string { return (&Saver{prefix: prefix}).key(thread) }

// These are the decoders of records and writes in one place.
func EncodeRecord(r checkpoint.Record) []byte { return encodeRecord(place{"t", "ns"}, r) }
func EncodeWrite(w checkpoint.Write) []byte   { return encodeWrite("t", &w) }

func DecodeRecord(s string, seq uint64) (checkpoint.Record, error) {
	return decodeRecord(place{"t", "ns"}, s, seq)
}

func DecodeHeader(s string, seq uint64) (checkpoint.Record, error) {
	return decodeHeader(place{"t", "ns"}, s, seq)
}

func DecodeWrite(base checkpoint.ID, name, value string) (checkpoint.Write, uint64, error) {
	return decodeWrite("t", base, name, value)
}

// ParseHead reads a namespace's head and forgets it.
func ParseHead(s string) error {
	_, err := parseHead(s)
	return err
}
