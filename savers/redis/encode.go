package redis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

var errMalformed = errors.New("malformed")

// encodeRecord returns a record as it is kept: the length of its header in four bytes, header and body. It stands for
// itself, and does not have its seq.
func encodeRecord(r checkpoint.Record) []byte {
	r = ledger.Normal(r)
	r.Seq = 1 // what a first record has is left out
	b := make([]byte, 4, 160+len(r.Payload))
	b = codec.AppendHeader(b, &r, nil)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return codec.AppendBody(b, &r)
}

// decodeRecord reads what encodeRecord made.
func decodeRecord(s string, seq uint64) (checkpoint.Record, error) {
	return decode(s, seq, func(in *codec.Reader, r *checkpoint.Record) { in.Body(r) })
}

// decodeHeader reads what encodeRecord made, without the body.
func decodeHeader(s string, seq uint64) (checkpoint.Record, error) {
	return decode(s, seq, func(*codec.Reader, *checkpoint.Record) {})
}

func decode(s string, seq uint64, body func(*codec.Reader, *checkpoint.Record)) (checkpoint.Record, error) {
	if len(s) < 4 {
		return checkpoint.Record{}, fmt.Errorf("record %d: %w: %d bytes", seq, errMalformed, len(s))
	}
	b := []byte(s)
	in := codec.NewReader(b[4:])
	r := in.Header(nil)
	if in.Err() == nil && uint64(in.Offset()) != uint64(binary.BigEndian.Uint32(b)) {
		return checkpoint.Record{}, fmt.Errorf("record %d: %w: its header has %d bytes, not %d", seq, errMalformed, in.Offset(), binary.BigEndian.Uint32(b))
	}
	body(in, &r)
	if err := in.End(); err != nil {
		return checkpoint.Record{}, fmt.Errorf("record %d: %w", seq, err)
	}
	r.Seq = seq
	return r, nil
}

// writeName returns what tells a pending write from the others of its base.
func writeName(w *checkpoint.Write, kind checkpoint.Kind) []byte {
	b := make([]byte, 0, 8+len(w.Namespace)+len(w.Task)+len(w.Name))
	b = append(b, byte(kind))
	return codec.AppendString(codec.AppendString(codec.AppendString(b, w.Namespace), w.Task), w.Name)
}

// writeArgs appends the arguments of pending writes, four for each act.
func writeArgs(args []any, writes []checkpoint.Write) []any {
	for i := range writes {
		w := &writes[i]
		switch w.Kind {
		case checkpoint.Discard:
			args = append(args, w.Base[:], writeName(w, checkpoint.Result), "d", "", w.Base[:], writeName(w, checkpoint.Failure), "d", "")
		case checkpoint.Result:
			args = append(args, w.Base[:], writeName(w, w.Kind), "f", encodePayload(w.Payload))
		default:
			args = append(args, w.Base[:], writeName(w, w.Kind), "r", encodePayload(w.Payload))
		}
	}
	return args
}

// encodePayload keeps none apart from empty.
func encodePayload(p []byte) []byte {
	if p == nil {
		return []byte{'n'}
	}
	return append(append(make([]byte, 0, 1+len(p)), 'b'), p...)
}

// decodeWrite reads a pending write of a base and its place in the order.
func decodeWrite(base checkpoint.ID, name, value string) (w checkpoint.Write, order uint64, err error) {
	in := codec.NewReader([]byte(name))
	w = checkpoint.Write{Base: base, Kind: checkpoint.Kind(in.Byte())}
	w.Namespace, w.Task, w.Name = in.String(), in.String(), in.String()
	if err := in.End(); err != nil {
		return w, 0, fmt.Errorf("a pending write's name: %w", err)
	}
	if w.Kind < checkpoint.Result || w.Kind > checkpoint.Failure {
		return w, 0, fmt.Errorf("a pending write's name: %w: kind %d", errMalformed, w.Kind)
	}
	first, rest, ok1 := strings.Cut(value, ":")
	_, payload, ok2 := strings.Cut(rest, ":")
	order, err = strconv.ParseUint(first, 10, 64)
	if !ok1 || !ok2 || err != nil {
		return w, 0, fmt.Errorf("a pending write: %w: want order:slot:payload", errMalformed)
	}
	if strings.HasPrefix(payload, "b") {
		w.Payload = []byte(payload[1:])
	}
	return w, order, nil
}

// head is what is kept of a namespace.
type head struct {
	id     checkpoint.ID
	number string // of the namespace
	seq    uint64
	// snapshot is the seq where the head's chain starts.
	snapshot uint64
	first    uint64 // records from here to seq are all there
	step     int
	count    int
}

// parseHead reads what is kept of a namespace; "" is one that has no records.
func parseHead(s string) (h head, err error) {
	if s == "" {
		return head{number: "0", first: 1}, nil
	}
	if len(s) < 16 {
		return h, fmt.Errorf("a namespace's head: %w: %d bytes", errMalformed, len(s))
	}
	copy(h.id[:], s)
	parts := strings.Split(s[16:], ":")
	if len(parts) != 6 {
		return h, fmt.Errorf("a namespace's head: %w: %d numbers, want 6", errMalformed, len(parts))
	}
	h.number = parts[0]
	var n [6]uint64
	for i, p := range parts {
		if n[i], err = strconv.ParseUint(p, 10, 63); err != nil {
			return h, fmt.Errorf("a namespace's head: %w: %w", errMalformed, err)
		}
	}
	if n[4] > math.MaxInt || n[5] > math.MaxInt {
		return h, fmt.Errorf("a namespace's head: %w: a number that is too large", errMalformed)
	}
	h.seq, h.snapshot, h.first, h.step, h.count = n[1], n[2], n[3], int(n[4]), int(n[5])
	return h, nil
}

// parseSeqs reads seqs with commas between.
func parseSeqs(s string) ([]uint64, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	seqs := make([]uint64, len(parts))
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 63)
		if err != nil {
			return nil, fmt.Errorf("kept records: %w: %w", errMalformed, err)
		}
		seqs[i] = n
	}
	return seqs, nil
}

func formatSeqs(seqs []uint64) string {
	parts := make([]string, len(seqs))
	for i, n := range seqs {
		parts[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(parts, ",")
}
