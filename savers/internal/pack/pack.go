// Package pack joins consecutive records of a log into one value. Savers use it instead of one row
// for each old record. Decode returns the records bit for bit. Restoring a state needs only the
// joined payloads: Open decodes no record.
//
// A pack consists of these parts, in this order:
//
//   - the format, one byte;
//   - flags, one byte: whether there is a snapshot, and whether the deltas are joined;
//   - the number of records, two bytes, the higher first;
//   - the ids of the records, 16 bytes each;
//   - for each record one byte: 1 if it is committed;
//   - the snapshot of the first record, if that record has one;
//   - the number of deltas, then either one joined delta and the table that cuts it, or each
//     delta;
//   - for each record its header without the id, and its body without the payload, as package
//     codec writes them;
//   - a checksum of these parts, the thread, the namespace, and the numbers of the first and the
//     last record.
//
// The ids have a fixed place, so that a program that cannot decode a pack can find a record in it.
//
// Only the first record of a pack may have a snapshot. Payloads may be any bytes. Payloads that
// are not deltas are not joined.
package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// Format is the number of the format that Encode writes. Open and Decode return an error for any
// other format.
const Format = 4

// MaxBytes is the largest size of a pack that Fill allows.
const MaxBytes = 64 << 10

// Record is a record and its mark in the log.
type Record struct {
	checkpoint.Record
	Committed bool // a later record commits the tasks that this record made due
	Large     bool // the payload is larger than MaxBytes, and was not read
}

// Place identifies the records of a pack. The checksum of a pack covers its place.
type Place struct {
	Thread, Namespace string
	First, Last       uint64 // the numbers of the first and the last record
}

// Flags in the second byte of a pack.
const (
	hasSnapshot = 1 << iota
	isJoined
)

// The offset of the ids, and the size of an id.
const (
	idsAt  = 4
	idSize = len(checkpoint.ID{})
)

// Fill returns how many of the records, from the first on, fit into one pack. They have
// consecutive numbers, only the first may have a snapshot, and the pack is at most MaxBytes large.
// Fill returns 0 if the first record is too large.
func Fill(records []Record) (n int) {
	size := 64
	var room []byte
	for i := range records {
		r := &records[i]
		if r.Large || i > 0 && (r.Snapshot || r.Seq != records[i-1].Seq+1) {
			return i
		}
		head := r.Record
		head.Payload = nil
		room = codec.AppendBody(codec.AppendHeader(room[:0], &head, nil), &head)
		if size += len(room) + len(r.Payload) + 16; size > MaxBytes {
			return i
		}
	}
	return len(records)
}

// Encode returns a pack of records that Fill accepted.
func Encode(thread, namespace string, records []Record) []byte {
	b := binary.BigEndian.AppendUint16([]byte{Format, 0}, uint16(len(records)))
	for i := range records {
		b = append(b, records[i].ID[:]...)
	}
	for i := range records {
		b = append(b, mark(records[i].Committed))
	}
	b = appendPayloads(b, records)
	var before *checkpoint.Record
	for i := range records {
		head := records[i].Record
		head.Payload = nil
		b = codec.AppendHeaderWithoutID(b, &head, before)
		b = codec.AppendBytes(b, codec.AppendBody(nil, &head))
		before = &records[i].Record
	}
	in := Place{thread, namespace, records[0].Seq, records[len(records)-1].Seq}
	return binary.LittleEndian.AppendUint32(b, in.sum(b))
}

// mark returns the byte of a pack that says whether a record commits.
func mark(committed bool) byte {
	if committed {
		return 1
	}
	return 0
}

// appendPayloads appends the snapshot and the deltas, and sets the flags of b.
func appendPayloads(b []byte, records []Record) []byte {
	deltas := make([][]byte, 0, len(records))
	for i := range records {
		if records[i].Snapshot {
			b[1] |= hasSnapshot
			b = codec.AppendBytes(b, records[i].Payload)
			continue
		}
		deltas = append(deltas, records[i].Payload)
	}
	b = binary.AppendUvarint(b, uint64(len(deltas)))
	if joined, table, ok := checkpoint.JoinDeltas(deltas...); ok && len(deltas) > 0 {
		b[1] |= isJoined
		return codec.AppendBytes(codec.AppendBytes(b, joined), table)
	}
	for _, d := range deltas {
		b = codec.AppendBytes(b, d)
	}
	return b
}

// sum returns the checksum of b as the content of the pack at p.
func (p *Place) sum(b []byte) uint32 {
	var room [256]byte
	bound := codec.AppendString(codec.AppendString(room[:0], p.Thread), p.Namespace)
	bound = binary.AppendUvarint(binary.AppendUvarint(bound, p.First), p.Last)
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(bound, table), table, b)
}

// Payloads are the payloads of a pack. They share memory with the pack.
type Payloads struct {
	Parent   checkpoint.ID // of the first record
	Snapshot []byte        // of the first record, if Whole
	Whole    bool          // the first record has a snapshot
	Deltas   [][]byte      // of the records in order: one for each, or one for all
	ids      []byte
	marks    []byte
	count    int // the number of records with a delta
	joined   bool
	table    []byte
}

// Len returns the number of records in the pack.
func (p *Payloads) Len() int { return len(p.marks) }

// ID returns the id of a record, by its index in the pack.
func (p *Payloads) ID(i int) checkpoint.ID { return checkpoint.ID(p.ids[i*idSize : (i+1)*idSize]) }

// Open checks the checksum of a pack and returns its payloads.
func Open(in Place, b []byte) (p Payloads, err error) {
	p, r, err := open(in, b)
	if err != nil {
		return p, err
	}
	head := r.HeaderWithoutID(p.ID(0), nil)
	if err := r.Err(); err != nil {
		return p, damaged(err)
	}
	p.Parent = head.Parent
	return p, nil
}

// damaged returns err as an ErrDamaged.
func damaged(err error) error { return fmt.Errorf("%w: %w", checkpoint.ErrDamaged, err) }

// open returns the payloads and a reader of the headers and bodies.
func open(in Place, b []byte) (p Payloads, r *codec.Reader, err error) {
	if len(b) < idsAt+4 {
		return p, nil, fmt.Errorf("a pack of %d bytes: %w", len(b), checkpoint.ErrDamaged)
	}
	if b[0] != Format {
		return p, nil, fmt.Errorf("a pack is of format %d, and this program reads format %d: finish or copy the thread with the program that wrote it",
			b[0], Format)
	}
	body := b[: len(b)-4 : len(b)-4]
	if binary.LittleEndian.Uint32(b[len(body):]) != in.sum(body) {
		return p, nil, fmt.Errorf("%w: its checksum is that of other data; restore it from a backup", checkpoint.ErrDamaged)
	}
	n, has := int(binary.BigEndian.Uint16(b[2:])), b[1]
	marksAt := idsAt + n*idSize
	if n == 0 || marksAt+n > len(body) {
		return p, nil, fmt.Errorf("a pack of %d bytes has no room for %d records: %w", len(b), n, checkpoint.ErrDamaged)
	}
	p.ids, p.marks = body[idsAt:marksAt], body[marksAt:marksAt+n]
	r = codec.NewReader(body)
	r.Skip(marksAt + n)
	if has&hasSnapshot != 0 {
		p.Whole, p.Snapshot = true, r.SharedBytes()
	}
	p.count, p.joined = r.Count(), has&isJoined != 0
	switch {
	case p.joined:
		p.Deltas, p.table = [][]byte{r.SharedBytes()}, r.SharedBytes()
	case p.count > 0:
		p.Deltas = make([][]byte, p.count)
		for i := range p.Deltas {
			p.Deltas[i] = r.SharedBytes()
		}
	}
	if err := r.Err(); err != nil {
		return p, nil, damaged(err)
	}
	return p, r, nil
}

// Decode returns the records of a pack. Their payloads may share memory with the pack.
func Decode(in Place, b []byte) ([]Record, error) {
	p, r, err := open(in, b)
	if err != nil {
		return nil, err
	}
	deltas := p.Deltas
	if p.joined {
		if deltas, err = checkpoint.SplitDeltas(deltas[0], p.table); err != nil {
			return nil, err
		}
	}
	payloads := deltas
	if p.Whole {
		payloads = append([][]byte{p.Snapshot}, deltas...)
	}
	if len(deltas) != p.count || len(payloads) != p.Len() {
		return nil, fmt.Errorf("%w: a pack of %d records has %d deltas and %d payloads, want %d deltas",
			checkpoint.ErrDamaged, p.Len(), len(deltas), len(payloads), p.count)
	}
	records := make([]Record, len(payloads))
	var before *checkpoint.Record
	var wrong error
	for i := range records {
		rec := &records[i]
		rec.Committed = p.marks[i] == 1
		rec.Record = r.HeaderWithoutID(p.ID(i), before)
		body := codec.NewReader(r.SharedBytes())
		body.Body(&rec.Record)
		wrong = errors.Join(wrong, body.End())
		rec.Payload, before = payloads[i], &rec.Record
	}
	if err := errors.Join(r.End(), wrong); err != nil {
		return nil, damaged(err)
	}
	return records, nil
}
