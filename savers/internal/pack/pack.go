// Package pack joins records that follow each other in a log into one value, for savers that would otherwise keep each in a
// row of its own. A record comes back bit for bit. Restoring a state takes the joined payloads alone, and decodes no
// record.
//
// A pack holds, one after the other:
//
//   - the format, and what the pack has: a snapshot, joined deltas, both or none;
//   - the snapshot of the first record, if that record has one;
//   - the number of deltas, then either one joined delta and the table that cuts it, or each delta;
//   - for each record whether it is committed, its header, and its body without the payload, as package codec writes them;
//   - a checksum of all of this, the thread, the namespace, and the numbers of the first and the last record.
//
// Only the first record of a pack may have a snapshot. Payloads may be any bytes: those that are not deltas are not joined.
package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// Format is the number of the form that this package writes. A pack of another form is an error.
const Format = 1

// MaxBytes is the size that Fill does not exceed.
const MaxBytes = 64 << 10

// Record is a record with what a log knows about it.
type Record struct {
	checkpoint.Record
	Committed bool // a later record commits the tasks that it made due
}

// Place is what a pack is bound to.
type Place struct {
	Thread, Namespace string
	First, Last       uint64 // the numbers of its first and its last record
}

// What the second byte of a pack says.
const (
	hasSnapshot = 1 << iota
	isJoined
)

// Fill returns how many of the records, from the first on, fit into one pack: those that follow each other without a gap, up
// to the next snapshot, and up to MaxBytes. It returns 0 if the first alone is too large.
func Fill(records []Record) (n int) {
	size := 64
	var room []byte
	for i := range records {
		r := &records[i]
		if i > 0 && (r.Snapshot || r.Seq != records[i-1].Seq+1) {
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

// Encode returns a pack of records that Fill has accepted.
func Encode(thread, namespace string, records []Record) []byte {
	deltas := make([][]byte, 0, len(records))
	var has byte
	b := []byte{Format, 0}
	for i := range records {
		if records[i].Snapshot {
			has, b = has|hasSnapshot, codec.AppendBytes(b, records[i].Payload)
			continue
		}
		deltas = append(deltas, records[i].Payload)
	}
	b = binary.AppendUvarint(b, uint64(len(deltas)))
	if joined, table, ok := checkpoint.JoinDeltas(deltas...); ok && len(deltas) > 0 {
		has, b = has|isJoined, codec.AppendBytes(codec.AppendBytes(b, joined), table)
	} else {
		for _, d := range deltas {
			b = codec.AppendBytes(b, d)
		}
	}
	b[1] = has
	var before *checkpoint.Record
	for i := range records {
		b = appendHead(b, &records[i], before)
		before = &records[i].Record
	}
	in := Place{thread, namespace, records[0].Seq, records[len(records)-1].Seq}
	return binary.LittleEndian.AppendUint32(b, in.sum(b))
}

// appendHead appends all of a record but its payload.
func appendHead(b []byte, r *Record, before *checkpoint.Record) []byte {
	head := r.Record
	head.Payload = nil
	committed := byte(0)
	if r.Committed {
		committed = 1
	}
	b = codec.AppendHeader(append(b, committed), &head, before)
	return codec.AppendBytes(b, codec.AppendBody(nil, &head))
}

func (p *Place) sum(b []byte) uint32 {
	var room [256]byte
	bound := codec.AppendString(codec.AppendString(room[:0], p.Thread), p.Namespace)
	bound = binary.AppendUvarint(binary.AppendUvarint(bound, p.First), p.Last)
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(bound, table), table, b)
}

// Payloads are the payloads of a pack. They share memory with it.
type Payloads struct {
	Snapshot []byte   // of the first record, if Whole
	Whole    bool     // the first record has a snapshot
	Deltas   [][]byte // of the records in order: one each, or one for all of them
	count    int      // of the records with a delta
	joined   bool
	table    []byte
}

// Open checks the sum of a pack and returns its payloads.
func Open(in Place, b []byte) (p Payloads, err error) {
	p, _, err = open(in, b)
	return p, err
}

func open(in Place, b []byte) (p Payloads, r *codec.Reader, err error) {
	if len(b) < 6 {
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
	r = codec.NewReader(body)
	r.Byte()
	has := r.Byte()
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
		return p, nil, fmt.Errorf("%w: %w", checkpoint.ErrDamaged, err)
	}
	return p, r, nil
}

// Decode returns the records of a pack. Their payloads may share memory with it.
func Decode(in Place, b []byte) ([]Record, error) {
	p, r, err := open(in, b)
	if err != nil {
		return nil, err
	}
	deltas := p.Deltas
	if p.joined {
		if deltas, err = checkpoint.CutDeltas(deltas[0], p.table); err != nil {
			return nil, err
		}
	}
	if len(deltas) != p.count {
		return nil, fmt.Errorf("%w: the joined delta has %d parts, want %d", checkpoint.ErrDamaged, len(deltas), p.count)
	}
	payloads := deltas
	if p.Whole {
		payloads = append([][]byte{p.Snapshot}, deltas...)
	}
	records := make([]Record, len(payloads))
	var before *checkpoint.Record
	var wrong error
	for i := range records {
		rec := &records[i]
		rec.Committed = r.Byte() == 1
		rec.Record = r.Header(before)
		body := codec.NewReader(r.SharedBytes())
		body.Body(&rec.Record)
		wrong = errors.Join(wrong, body.End())
		rec.Payload, before = payloads[i], &rec.Record
	}
	if err := errors.Join(r.End(), wrong); err != nil {
		return nil, fmt.Errorf("%w: %w", checkpoint.ErrDamaged, err)
	}
	return records, nil
}
