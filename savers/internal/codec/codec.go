// Package codec encodes records and pending writes as bytes, and decodes them. A record has two
// parts. The header contains the data for an index; it leaves out the fields that equal those of
// the record before it. The body can be read alone.
//
// A Reader checks every length against the remaining bytes before it allocates. Bytes that this
// package did not write are an error, never a panic.
package codec

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Flags in the first byte of a header.
const (
	parentIsBefore = 1 << iota
	baseIsOwn
	baseIsBefores
	lineIsOwn
	lineIsBefores
	commitsNothing
	commitsBefores // the base of the record before
	isSnapshot
)

// Flags in the second byte. Its low three bits are the source.
const (
	stepIsNext = 8 << iota
	fingerprintIsBefores
	graphIsBefores
	seqIsNext
	sourceBits = 7
)

var none checkpoint.Record

// AppendHeader appends the header of r: all fields except Ran, Due, PendingRoutes, Joins,
// ClearedStops, Request, Meta and Payload. before is the record before r in its log, or nil for
// the first. AppendHeader uses only the header of before.
func AppendHeader(b []byte, r, before *checkpoint.Record) []byte {
	first, second := shared(r, before)
	return appendHeader(append(append(b, first, second), r.ID[:]...), r, before, first, second)
}

// AppendHeaderWithoutID appends the header of r without its id, which the caller stores elsewhere.
func AppendHeaderWithoutID(b []byte, r, before *checkpoint.Record) []byte {
	first, second := shared(r, before)
	return appendHeader(append(b, first, second), r, before, first, second)
}

// appendHeader appends what follows the id in a header.
func appendHeader(b []byte, r, before *checkpoint.Record, first, second byte) []byte {
	if before == nil {
		before = &none
	}
	for _, id := range [...]struct {
		known bool
		id    *checkpoint.ID
	}{
		{first&parentIsBefore != 0, &r.Parent},
		{first&(baseIsOwn|baseIsBefores) != 0, &r.Base},
		{first&(lineIsOwn|lineIsBefores) != 0, &r.Line},
		{first&(commitsNothing|commitsBefores) != 0, &r.Commits},
	} {
		if !id.known {
			b = append(b, id.id[:]...)
		}
	}
	if second&seqIsNext == 0 {
		b = binary.AppendUvarint(b, r.Seq)
	}
	if second&stepIsNext == 0 {
		b = binary.AppendUvarint(b, uint64(r.Step))
	}
	if second&fingerprintIsBefores == 0 {
		b = binary.LittleEndian.AppendUint64(b, r.Fingerprint)
	}
	if second&graphIsBefores == 0 {
		b = AppendString(b, r.Graph)
	}
	return binary.AppendVarint(b, r.Created.UnixMicro()-before.Created.UnixMicro())
}

// shared returns the two bytes that say what r has in common with the record before it.
func shared(r, before *checkpoint.Record) (first, second byte) {
	if before == nil {
		before = &none
	}
	flag := func(b *byte, bit byte, is bool) {
		if is {
			*b |= bit
		}
	}
	flag(&first, parentIsBefore, r.Parent == before.ID)
	flag(&first, baseIsOwn, r.Base == r.ID)
	flag(&first, baseIsBefores, r.Base == before.Base && r.Base != r.ID)
	flag(&first, lineIsOwn, r.Line == r.ID)
	flag(&first, lineIsBefores, r.Line == before.Line && r.Line != r.ID)
	flag(&first, commitsNothing, r.Commits.IsZero())
	flag(&first, commitsBefores, r.Commits == before.Base && !r.Commits.IsZero())
	flag(&first, isSnapshot, r.Snapshot)
	second = byte(r.Source)
	flag(&second, stepIsNext, r.Step == before.Step+1)
	flag(&second, fingerprintIsBefores, r.Fingerprint == before.Fingerprint)
	flag(&second, graphIsBefores, r.Graph == before.Graph)
	flag(&second, seqIsNext, r.Seq == before.Seq+1)
	return first, second
}

// Header reads what AppendHeader wrote, given the same record before it.
func (r *Reader) Header(before *checkpoint.Record) checkpoint.Record {
	first, second := r.Byte(), r.Byte()
	return r.header(r.ID(), before, first, second)
}

// HeaderWithoutID reads what AppendHeaderWithoutID wrote, given the id and the same record before
// it.
func (r *Reader) HeaderWithoutID(id checkpoint.ID, before *checkpoint.Record) checkpoint.Record {
	first, second := r.Byte(), r.Byte()
	return r.header(id, before, first, second)
}

// header decodes the rest of a header. first and second are its flags, and before is the header
// that it was encoded against, or nil.
func (r *Reader) header(id checkpoint.ID, before *checkpoint.Record, first, second byte) checkpoint.Record {
	if before == nil {
		before = &none
	}
	h := checkpoint.Record{ID: id, Snapshot: first&isSnapshot != 0, Source: checkpoint.Source(second & sourceBits)}
	h.Parent = r.pick(first, before.ID, parentIsBefore, checkpoint.ID{}, 0)
	h.Base = r.pick(first, h.ID, baseIsOwn, before.Base, baseIsBefores)
	h.Line = r.pick(first, h.ID, lineIsOwn, before.Line, lineIsBefores)
	h.Commits = r.pick(first, checkpoint.ID{}, commitsNothing, before.Base, commitsBefores)
	h.Seq, h.Step, h.Fingerprint, h.Graph = before.Seq+1, before.Step+1, before.Fingerprint, before.Graph
	if second&seqIsNext == 0 {
		h.Seq = r.Uvarint()
	}
	if second&stepIsNext == 0 {
		h.Step = r.Int()
	}
	if second&fingerprintIsBefores == 0 {
		h.Fingerprint = r.Uint64()
	}
	if second&graphIsBefores == 0 {
		h.Graph = r.String()
	}
	h.Created = time.UnixMicro(before.Created.UnixMicro() + r.Varint()).UTC()
	return h
}

// pick returns a when its bit is set, b when its bit is set, and else the id that comes next.
func (r *Reader) pick(flags byte, a checkpoint.ID, aBit byte, b checkpoint.ID, bBit byte) checkpoint.ID {
	switch {
	case flags&aBit != 0:
		return a
	case flags&bBit != 0:
		return b
	}
	return r.ID()
}

// Flags in the first byte of a body.
const (
	hasRan = 1 << iota
	hasDue
	hasOwed
	hasJoins
	hasPass
	hasRequest
	hasMeta
	hasPayload
)

// AppendBody appends the body of r: what AppendHeader leaves out.
func AppendBody(b []byte, r *checkpoint.Record) []byte {
	at := len(b)
	b = append(b, 0)
	put := func(bit byte, is bool) bool {
		if is {
			b[at] |= bit
		}
		return is
	}
	if put(hasRan, len(r.Ran) > 0) {
		b = appendNames(b, r.Ran)
	}
	if put(hasDue, len(r.Due) > 0) {
		b = appendDue(b, r.Due)
	}
	if put(hasOwed, len(r.PendingRoutes) > 0) {
		b = appendNames(b, r.PendingRoutes)
	}
	if put(hasJoins, len(r.Joins) > 0) {
		b = binary.AppendUvarint(b, uint64(len(r.Joins)))
		for i := range r.Joins {
			b = appendNames(AppendString(b, r.Joins[i].To), r.Joins[i].Fired)
		}
	}
	if put(hasPass, len(r.ClearedStops) > 0) {
		b = appendNames(b, r.ClearedStops)
	}
	if put(hasRequest, r.Request != "") {
		b = AppendString(b, r.Request)
	}
	if put(hasMeta, len(r.Meta) > 0) {
		b = AppendLabels(b, r.Meta)
	}
	if put(hasPayload, r.Payload != nil) {
		b = append(b, r.Payload...)
	}
	return b
}

// appendDue appends the tasks that are due.
func appendDue(b []byte, due []checkpoint.Task) []byte {
	b = binary.AppendUvarint(b, uint64(len(due)))
	for i := range due {
		b = AppendString(b, due[i].Node)
		b = binary.AppendUvarint(b, uint64(due[i].Index))
		b = AppendBytes(b, due[i].Payload)
	}
	return b
}

// Body reads what AppendBody wrote, all of what is left, into h, which Header returned. The
// payload shares memory with what the Reader reads; nothing else does.
func (r *Reader) Body(h *checkpoint.Record) {
	has := r.Byte()
	if has&hasRan != 0 {
		h.Ran = r.names()
	}
	if has&hasDue != 0 {
		h.Due = make([]checkpoint.Task, r.count(3))
		for i := range h.Due {
			h.Due[i] = checkpoint.Task{Node: r.String(), Index: r.uint32(), Payload: r.Bytes()}
		}
	}
	if has&hasOwed != 0 {
		h.PendingRoutes = r.names()
	}
	if has&hasJoins != 0 {
		h.Joins = make([]checkpoint.Join, r.count(2))
		for i := range h.Joins {
			h.Joins[i] = checkpoint.Join{To: r.String(), Fired: r.names()}
		}
	}
	if has&hasPass != 0 {
		h.ClearedStops = r.names()
	}
	if has&hasRequest != 0 {
		h.Request = r.String()
	}
	if has&hasMeta != 0 {
		h.Meta = r.Labels()
	}
	if has&hasPayload != 0 {
		h.Payload = r.rest()
	}
}

// Payload returns the payload of a body that AppendBody wrote, without making anything of the
// rest. It shares memory with what the Reader reads.
func (r *Reader) Payload() []byte {
	has := r.Byte()
	if has&hasRan != 0 {
		r.skipNames()
	}
	if has&hasDue != 0 {
		for range r.count(3) {
			r.skipString()
			r.uint32()
			r.take(max(r.Uvarint(), 1) - 1)
		}
	}
	if has&hasOwed != 0 {
		r.skipNames()
	}
	if has&hasJoins != 0 {
		for range r.count(2) {
			r.skipString()
			r.skipNames()
		}
	}
	if has&hasPass != 0 {
		r.skipNames()
	}
	if has&hasRequest != 0 {
		r.skipString()
	}
	if has&hasMeta != 0 {
		for range r.count(2) {
			r.skipString()
			r.skipString()
		}
	}
	if has&hasPayload != 0 {
		return r.rest()
	}
	return nil
}

// AppendWrite appends a pending write. before is the write before it in the same frame, nil for
// the first: what is equal is left out.
func AppendWrite(b []byte, w, before *checkpoint.Write) []byte {
	const same = 0x80
	kind := byte(w.Kind)
	if before != nil && before.Base == w.Base && before.Namespace == w.Namespace {
		b = append(b, kind|same)
	} else {
		b = append(b, kind)
		b = append(AppendString(b, w.Namespace), w.Base[:]...)
	}
	b = AppendString(b, w.Task)
	b = AppendString(b, w.Name)
	return AppendBytes(b, w.Payload)
}

// Write reads what AppendWrite wrote, given the same write before it. The payload is a copy.
func (r *Reader) Write(before *checkpoint.Write) checkpoint.Write {
	const same = 0x80
	kind := r.Byte()
	w := checkpoint.Write{Kind: checkpoint.Kind(kind &^ same)}
	switch {
	case kind&same == 0:
		w.Namespace, w.Base = r.String(), r.ID()
	case before == nil:
		r.fail("the first write repeats a write before it")
	default:
		w.Namespace, w.Base = before.Namespace, before.Base
	}
	if w.Kind < checkpoint.Result || w.Kind > checkpoint.Outcome {
		r.fail("a write of a kind that does not exist")
	}
	w.Task, w.Name, w.Payload = r.String(), r.String(), r.Bytes()
	return w
}

// AppendLabels appends labels or metadata, ordered by name, so that equal ones have equal bytes.
func AppendLabels(b []byte, labels map[string]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(labels)))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b = AppendString(AppendString(b, name), labels[name])
	}
	return b
}

// Labels reads what AppendLabels wrote.
func (r *Reader) Labels() map[string]string {
	n := r.count(2)
	if n == 0 {
		return nil
	}
	labels := make(map[string]string, n)
	for range n {
		name := r.String()
		labels[name] = r.String()
	}
	return labels
}

// Errors of reading are this, wrapped in what was found.
var errMalformed = errors.New("malformed")

// Time returns the time that UnixMicro says, in UTC.
func Time(micro int64) time.Time { return time.UnixMicro(micro).UTC() }
