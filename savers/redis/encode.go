package redis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

var errMalformed = errors.New("malformed")

// format is the number of the format of threads. It is the first byte of each record. Format 3
// added packs, and format 4 the nodes that ran. Format 5 added the descriptions of threads, format
// 6 when they are due, and format 7 the inbox. Format 8 added priorities, and how many cancels
// wait.
const format = 8

// place is a log: what a record is bound to.
type place struct{ thread, namespace string }

// encodeRecord returns the stored form of a record: the format, the length of the header in three
// bytes, the header, the body, and a checksum. The checksum also covers the log. The seq is not
// stored.
func encodeRecord(in place, r checkpoint.Record) []byte {
	r = ledger.Normal(r)
	r.Seq = 1 // what a first record has is left out
	b := make([]byte, 4, 160+len(r.Payload))
	b = codec.AppendHeader(b, &r, nil)
	binary.BigEndian.PutUint32(b, format<<24|uint32(len(b)-4))
	return codec.AppendRecordSum(codec.AppendBody(b, &r), len(b), in.thread, in.namespace, &r)
}

// decodeRecord reads what encodeRecord made.
func decodeRecord(in place, s string, seq uint64) (checkpoint.Record, error) {
	r, rest, err := decode(s, seq)
	if err != nil {
		return checkpoint.Record{}, err
	}
	body, ok := codec.CutRecordSum(rest, in.thread, in.namespace, &r)
	if !ok {
		return checkpoint.Record{}, fmt.Errorf("namespace %q, record %d: %w", short(in.namespace), seq, errSum)
	}
	b := codec.NewReader(body)
	b.Body(&r)
	if err := b.End(); err != nil {
		return checkpoint.Record{}, fmt.Errorf("record %d: %w", seq, err)
	}
	r.Seq = seq
	return r, nil
}

// errSum says that stored bytes are not those that were stored.
var errSum = errors.New("its checksum is that of other data; restore it from a backup")

// decodeHeader reads of what encodeRecord made what is before the body.
func decodeHeader(_ place, s string, seq uint64) (checkpoint.Record, error) {
	r, rest, err := decode(s, seq)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("record %d: %w: %d bytes after its header", seq, errMalformed, len(rest))
	}
	r.Seq = seq
	return r, err
}

// link is what ties a record to its log.
type link struct {
	id, parent checkpoint.ID
	snapshot   bool
}

// decodeLink decodes the link and the payload of a stored record. It checks the checksum of the
// whole record.
func decodeLink(in place, s string, seq uint64) (l link, payload []byte, err error) {
	header, rest, err := cutHeader(s, seq)
	if err != nil {
		return l, nil, err
	}
	body, ok := codec.CutSum(rest, in.thread, in.namespace, header)
	if !ok {
		return l, nil, fmt.Errorf("record %d: %w", seq, errSum)
	}
	h, b := codec.NewReader(header), codec.NewReader(body)
	l.id, l.parent, l.snapshot = h.Link()
	payload = b.Payload()
	if err := errors.Join(h.Err(), b.End()); err != nil {
		return l, nil, fmt.Errorf("record %d: %w", seq, err)
	}
	return l, payload, nil
}

// decode reads the header, whose seq is not the record's, and returns what is after it.
func decode(s string, seq uint64) (r checkpoint.Record, rest []byte, err error) {
	header, rest, err := cutHeader(s, seq)
	if err != nil {
		return r, nil, err
	}
	in := codec.NewReader(header)
	r = in.Header(nil)
	if err := in.End(); err != nil {
		return checkpoint.Record{}, nil, fmt.Errorf("record %d: %w", seq, err)
	}
	return r, rest, nil
}

// cutHeader returns the header, as codec.AppendHeader wrote it, and what is after it.
func cutHeader(s string, seq uint64) (header, rest []byte, err error) {
	b := []byte(s)
	if len(b) < 4 {
		return nil, nil, fmt.Errorf("record %d: %w: %d bytes", seq, errMalformed, len(b))
	}
	if b[0] != format {
		return nil, nil, fmt.Errorf("record %d is of format %d, and this program reads format %d: finish or copy the thread with the program that wrote it", seq, b[0], format)
	}
	n := int(binary.BigEndian.Uint32(b) & (1<<24 - 1))
	if n > len(b)-4 {
		return nil, nil, fmt.Errorf("record %d: %w: its header has %d bytes, of %d", seq, errMalformed, n, len(b)-4)
	}
	return b[4 : 4+n], b[4+n:], nil
}

// writeName returns what tells a pending write from the others of its base.
func writeName(w *checkpoint.Write, kind checkpoint.Kind) []byte {
	b := make([]byte, 0, 8+len(w.Namespace)+len(w.Task)+len(w.Name))
	b = append(b, byte(kind))
	return codec.AppendString(codec.AppendString(codec.AppendString(b, w.Namespace), w.Task), w.Name)
}

// writeArgs appends the arguments of pending writes, four for each act.
func writeArgs(args []any, thread string, writes []checkpoint.Write) []any {
	for i := range writes {
		w := &writes[i]
		switch w.Kind {
		case checkpoint.Discard:
			for _, kind := range [...]checkpoint.Kind{checkpoint.Result, checkpoint.Failure, checkpoint.Answer} {
				args = append(args, w.Base[:], writeName(w, kind), "d", "")
			}
		case checkpoint.Result, checkpoint.Schema, checkpoint.Outcome:
			args = append(args, w.Base[:], writeName(w, w.Kind), "f", encodeWrite(thread, w))
		default:
			args = append(args, w.Base[:], writeName(w, w.Kind), "r", encodeWrite(thread, w))
		}
	}
	return args
}

// encodeWrite returns what a pending write holds: N, or B and its payload, and a checksum of all
// of the write and of its thread. Before there were checksums, it was n, or b and the payload.
func encodeWrite(thread string, w *checkpoint.Write) []byte {
	b := append(w.Base[:], writeName(w, w.Kind)...)
	bound := len(b)
	if w.Payload == nil {
		b = append(b, 'N')
	} else {
		b = append(append(b, 'B'), w.Payload...)
	}
	return codec.AppendWriteSum(b, thread)[bound:]
}

// encodeLabels returns labels as relabel of common.lua reads them, ordered by name.
func encodeLabels(labels map[string]string) []byte {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(name))), name...)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(labels[name]))), labels[name]...)
	}
	return b
}

// decodeLabels decodes what encodeLabels encoded.
func decodeLabels(s string) (map[string]string, error) {
	var labels map[string]string
	for len(s) > 0 {
		var parts [2]string
		for i := range parts {
			if len(s) < 2 || len(s)-2 < int(s[0])<<8|int(s[1]) {
				return nil, fmt.Errorf("labels: %w", errMalformed)
			}
			n := int(s[0])<<8 | int(s[1])
			parts[i], s = s[2:2+n], s[2+n:]
		}
		if labels == nil {
			labels = make(map[string]string)
		}
		labels[parts[0]] = parts[1]
	}
	return labels, nil
}

// noPayload is what stands for what a pending write holds where nobody looks at that.
const noPayload = "0:0:"

// decodeWrite reads a pending write of a base and its place in the order.
func decodeWrite(thread string, base checkpoint.ID, name, value string) (w checkpoint.Write, order uint64, err error) {
	in := codec.NewReader([]byte(name))
	w = checkpoint.Write{Base: base, Kind: checkpoint.Kind(in.Byte())}
	w.Namespace, w.Task, w.Name = in.String(), in.String(), in.String()
	if err := in.End(); err != nil {
		return w, 0, fmt.Errorf("a pending write's name: %w", err)
	}
	if w.Kind < checkpoint.Result || w.Kind > checkpoint.Outcome || w.Kind == checkpoint.Discard {
		return w, 0, fmt.Errorf("a pending write's name: %w: kind %d", errMalformed, w.Kind)
	}
	first, rest, ok1 := strings.Cut(value, ":")
	_, payload, ok2 := strings.Cut(rest, ":")
	order, err = strconv.ParseUint(first, 10, 64)
	if !ok1 || !ok2 || err != nil {
		return w, 0, fmt.Errorf("a pending write: %w: want order:slot:payload", errMalformed)
	}
	if value == noPayload {
		return w, order, nil
	}
	if strings.HasPrefix(payload, "n") || strings.HasPrefix(payload, "b") {
		return w, 0, fmt.Errorf("a pending write is of format 0, and this program reads format %d: finish or copy the thread with the program that wrote it", format)
	}
	bound := string(base[:]) + name
	b, ok := codec.CutWriteSum([]byte(bound+payload), thread)
	if !ok || len(b) <= len(bound) {
		return w, 0, fmt.Errorf("a pending write: %w", errSum)
	}
	switch held := b[len(bound):]; held[0] {
	case 'N':
	case 'B':
		w.Payload = held[1:]
	default:
		return w, 0, fmt.Errorf("a pending write: %w: want N or B", errMalformed)
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

// entry is what is kept of a record that is not in a pack.
type entry struct {
	base      checkpoint.ID
	number    uint64 // of the log
	seq       uint64
	chain     uint64 // the seq where its chain starts
	committed bool
}

// parseEntry reads what is kept of a record.
func parseEntry(s string) (e entry, err error) {
	if len(s) < 16 {
		return e, fmt.Errorf("the entry of a record: %w: %d bytes", errMalformed, len(s))
	}
	copy(e.base[:], s)
	numbers, committed := strings.CutSuffix(s[16:], ":c")
	parts := strings.Split(numbers, ":")
	if len(parts) != 3 {
		return e, fmt.Errorf("the entry of a record: %w: %d numbers, want 3", errMalformed, len(parts))
	}
	for i, n := range []*uint64{&e.number, &e.seq, &e.chain} {
		if *n, err = strconv.ParseUint(parts[i], 10, 47); err != nil {
			return e, fmt.Errorf("the entry of a record: %w: %w", errMalformed, err)
		}
	}
	e.committed = committed
	return e, nil
}

// format returns the entry as it is stored.
func (e *entry) format() []byte {
	b := fmt.Appendf(e.base[:len(e.base):len(e.base)], "%d:%d:%d", e.number, e.seq, e.chain)
	if e.committed {
		b = append(b, ":c"...)
	}
	return b
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
