package file

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// A file is the magic and frames. A frame is a head and a payload. The head is little-endian and
// has four numbers:
//
// - the length of the payload
// - the salt of the file
// - the CRC32C of the payload
// - the CRC32C of those twelve bytes and the frame's offset
//
// The salt is a random number. So bytes that are in a file by chance, or that a user stored, do
// not form a frame. A frame of another file or another offset is not valid either. The first
// frame is the header; every other frame is one event.
const (
	magic     = "ggsaver9" // the last byte is the number of the format: 0 to 9, then A to Z
	frameHead = 16
	maxFrame  = math.MaxUint32
)

// sector is the least that a disk writes, whole or not at all.
const sector = 512

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns the CRC-32C checksum of b.
func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// damaged returns an ErrDamaged that names the file, the byte and the finding.
func damaged(path string, offset int64, format string, args ...any) error {
	return fmt.Errorf("file: %s: at byte %d: %s: %w; restore the file from a copy, repair or delete the thread",
		path, offset, fmt.Sprintf(format, args...), checkpoint.ErrDamaged)
}

// openFrame reserves a frame's head; closeFrame fills it in. The caller appends the payload in
// between.
func openFrame(b []byte) []byte { return append(b, make([]byte, frameHead)...) }

// closeFrame finishes the frame at b[at:], whose offset in the file is offset.
func closeFrame(b []byte, at int, salt uint32, offset int64) error {
	payload := b[at+frameHead:]
	if err := fitsFrame(len(payload)); err != nil {
		return err
	}
	head := (*[frameHead]byte)(b[at:])
	binary.LittleEndian.PutUint32(head[:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[4:], salt)
	binary.LittleEndian.PutUint32(head[8:], sum(payload))
	binary.LittleEndian.PutUint32(head[12:], headSum(head, offset))
	return nil
}

// fitsFrame returns a *checkpoint.SizeError if a payload of so many bytes is larger than a frame.
func fitsFrame(size int) error {
	if uint64(size) <= maxFrame {
		return nil
	}
	return fmt.Errorf("file: one write: %w", &checkpoint.SizeError{Size: size, Limit: maxFrame, Setting: "the format of the files"})
}

// headSum returns the checksum of a head at an offset.
func headSum(head *[frameHead]byte, offset int64) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(offset))
	return crc32.Update(sum(head[:12]), castagnoli, place[:])
}

// newSalt returns a random number that is not zero.
func newSalt() uint32 {
	var b [4]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if salt := binary.LittleEndian.Uint32(b[:]); salt != 0 {
			return salt
		}
	}
}

// errTorn says that the frames end before the file does. The rest was never acknowledged.
var errTorn = errors.New("torn")

// frames reads whole frames, one after the other.
type frames struct {
	path string
	f    io.ReaderAt
	r    *bufio.Reader
	at   int64  // where the next frame starts
	size int64  // of the file
	salt uint32 // of the file; zero until the header has been read
	buf  []byte
}

// newFrames returns a reader of the frames of f from byte at up to byte size.
func newFrames(path string, f io.ReaderAt, at, size int64, salt uint32) *frames {
	r := bufio.NewReaderSize(io.NewSectionReader(f, at, size-at), 32<<10)
	return &frames{path: path, f: f, r: r, at: at, size: size, salt: salt}
}

// next returns the head and the payload of the next frame, valid until the next call. At the end
// of the file it returns io.EOF. If the next frame is bad, next returns ErrDamaged if a whole
// frame follows, and errTorn otherwise.
func (fr *frames) next() (head [frameHead]byte, payload []byte, err error) {
	left := fr.size - fr.at
	if left == 0 {
		return head, nil, io.EOF
	}
	if left < frameHead {
		return head, nil, errTorn
	}
	if _, err := io.ReadFull(fr.r, head[:]); err != nil {
		return head, nil, fr.read(err)
	}
	if !fr.isHead(&head, fr.at) {
		return head, nil, fr.bad(frameHead, "the checksum of a frame's head does not match")
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n > left-frameHead {
		return head, nil, errTorn
	}
	if int64(cap(fr.buf)) < n {
		fr.buf = make([]byte, n)
	}
	payload = fr.buf[:n]
	if _, err := io.ReadFull(fr.r, payload); err != nil {
		return head, nil, fr.read(err)
	}
	if binary.LittleEndian.Uint32(head[8:]) != sum(payload) {
		return head, nil, fr.bad(frameHead+n, fmt.Sprintf("the checksum of a frame of %d bytes does not match", n))
	}
	fr.salt = binary.LittleEndian.Uint32(head[4:])
	fr.at += frameHead + n
	return head, payload, nil
}

// isHead reports whether a head is whole, belongs to this file and is at its offset.
func (fr *frames) isHead(head *[frameHead]byte, at int64) bool {
	salt := binary.LittleEndian.Uint32(head[4:])
	return salt != 0 && (salt == fr.salt || fr.salt == 0) && binary.LittleEndian.Uint32(head[12:]) == headSum(head, at)
}

// bad returns the error for a bad frame whose first n bytes are all in the file: errTorn or
// ErrDamaged. Only the last frame can be torn, because a write is synced before the next one
// starts. A header in the same sector as the magic was written with it, so it cannot be torn.
func (fr *frames) bad(n int64, what string) error {
	if fr.salt == 0 && fr.at+n <= sector {
		return damaged(fr.path, fr.at, "%s, in the file's header", what)
	}
	at, err := fr.later(fr.at)
	switch {
	case err != nil:
		return err
	case at < 0:
		return errTorn
	}
	return damaged(fr.path, fr.at, "%s, and there is a whole frame at byte %d", what, at)
}

// later returns the offset of the first whole frame that starts at from or after it, or -1. A
// frame of this file counts at any offset: frames that were moved were acknowledged too.
func (fr *frames) later(from int64) (int64, error) {
	const step = 64 << 10
	b := make([]byte, min(step+frameHead-1, max(fr.size-from, 0)))
	for ; from+frameHead <= fr.size; from += step {
		n, err := fr.f.ReadAt(b[:min(int64(len(b)), fr.size-from)], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fr.read(err)
		}
		for i := fr.candidate(b[:n], 0); i >= 0; i = fr.candidate(b[:n], i+1) {
			at, head := from+int64(i), (*[frameHead]byte)(b[i:])
			if fr.salt == 0 && !fr.isHead(head, at) {
				continue
			}
			if whole, err := fr.whole(head, at); whole || err != nil {
				return at, err
			}
		}
	}
	return -1, nil
}

// candidate returns the next index in b, from i on, at which a head may start, or -1. It searches
// for the salt if the salt is known.
func (fr *frames) candidate(b []byte, i int) int {
	if fr.salt != 0 && i+frameHead <= len(b) {
		var salt [4]byte
		binary.LittleEndian.PutUint32(salt[:], fr.salt)
		found := bytes.Index(b[i+4:], salt[:])
		if found < 0 {
			return -1
		}
		i += found
	}
	if i+frameHead > len(b) {
		return -1
	}
	return i
}

// whole reports whether the payload of the frame at an offset matches its head.
func (fr *frames) whole(head *[frameHead]byte, at int64) (bool, error) {
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n > fr.size-at-frameHead {
		return false, nil
	}
	payload := crc32.New(castagnoli)
	if _, err := io.Copy(payload, io.NewSectionReader(fr.f, at+frameHead, n)); err != nil {
		return false, fr.read(err)
	}
	return binary.LittleEndian.Uint32(head[8:]) == payload.Sum32(), nil
}

// read wraps an error of reading. If the file has become shorter, read returns errTorn, and the
// caller reads the file again.
func (fr *frames) read(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return fmt.Errorf("file: read %s: %w", fr.path, err)
}

// appendHeader appends the magic and the header frame of a version.
func appendHeader(b []byte, id string, number int, salt uint32) ([]byte, error) {
	at := len(b) + len(magic)
	b = openFrame(append(b, magic...))
	b = append(binary.LittleEndian.AppendUint32(b, uint32(number)), id...)
	return b, closeFrame(b, at, salt, int64(len(magic)))
}

// appendFirst appends the start of the file after that of v, which was released: its header, and
// what v leaves to it.
func appendFirst(v *ledger.Version) ([]byte, error) {
	salt := newSalt()
	b, err := appendHeader(nil, v.Thread, v.Number+1, salt)
	if err != nil || v.About.Created.IsZero() {
		return b, err
	}
	return appendEvent(b, v.Left(), nil, nil, 0, salt)
}

// readHeader decodes the payload of the header frame.
func readHeader(payload []byte) (id string, number int, err error) {
	if len(payload) < 5 {
		return "", 0, errors.New("a header without an id")
	}
	n := binary.LittleEndian.Uint32(payload)
	if n == 0 || n > math.MaxInt32 {
		return "", 0, fmt.Errorf("version number %d", n)
	}
	return string(payload[4:]), int(n), nil
}

// The flags at the start of an event, a uvarint.
const (
	evRecords = 1 << iota
	evOpens
	evEnds
	evReleases
	evWrites
	evStatus
	evRestores
	evAbout
	evWake
	evRetries
	evProgress
	evMessages
	evHandled
	evReplies
	evTimed = evOpens | evEnds | evReleases | evRestores
)

// appendEvent appends one event as a frame, with its records. It adds their entries, with the
// places of their bodies, to e. before is the header of the record before them, or nil. start is
// the offset in the file of b's first byte.
func appendEvent(
	b []byte, e *ledger.Event, records []checkpoint.Record, before *checkpoint.Record, start int64, salt uint32,
) ([]byte, error) {
	at := len(b)
	b = openFrame(b)
	flags := eventFlags(e, len(records))
	b = binary.AppendUvarint(b, flags)
	if flags&evTimed != 0 {
		b = binary.AppendVarint(b, e.Time.UnixMicro())
	}
	if flags&evStatus != 0 {
		b = append(b, byte(e.Status))
	}
	if flags&(evOpens|evRestores) != 0 {
		b = codec.AppendString(b, e.Holder)
	}
	if flags&evRestores != 0 {
		b = append(b, e.Fence[:]...)
		b = binary.AppendUvarint(b, uint64(e.Attempts))
	}
	if flags&evWake != 0 {
		b = binary.AppendVarint(b, wakeMicro(*e.Wake))
	}
	if flags&evAbout != 0 {
		b = append(binary.AppendVarint(b, e.About.Created.UnixMicro()), e.About.Birth[:]...)
		b = codec.AppendString(codec.AppendString(b, e.About.Graph), e.About.Title)
		b = append(codec.AppendLabels(b, e.About.Labels), byte(e.About.Rank()))
	}
	if flags&evRecords != 0 {
		b = codec.AppendString(b, e.Namespace)
		b = binary.AppendUvarint(b, uint64(len(records)))
		for i := range records {
			var entry *ledger.Entry
			b, entry = appendRecord(b, &records[i], before, start)
			e.Entries = append(e.Entries, entry)
			before = &entry.Record
		}
	}
	if flags&evWrites != 0 {
		b = appendWrites(b, e.Writes)
	}
	if flags&evMessages != 0 {
		b = appendMessages(b, e)
	}
	if flags&evHandled != 0 {
		b = appendHandled(b, &e.Handled)
	}
	if flags&evReplies != 0 {
		b = appendPayloads(binary.AppendUvarint(b, e.Replies), e.Handled.Reply)
	}
	return b, closeFrame(b, at, salt, start+int64(at))
}

// wakeMicro returns a time as it is stored; the zero time is 0.
func wakeMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// eventFlags returns the bits of the parts that the frame of e has.
func eventFlags(e *ledger.Event, records int) (flags uint64) {
	for _, f := range [...]struct {
		bit uint64
		is  bool
	}{
		{evRecords, records > 0}, {evOpens, e.Opens}, {evEnds, e.Ends}, {evReleases, e.Releases},
		{evWrites, len(e.Writes) > 0}, {evStatus, e.Status != 0}, {evRestores, e.Restores},
		{evAbout, e.About != nil}, {evWake, e.Wake != nil}, {evRetries, e.Retries}, {evProgress, e.Progress},
		{evMessages, e.Posted > 0 || len(e.Messages) > 0}, {evHandled, !e.Handled.Empty()},
		{evReplies, e.Replies > 0 || len(e.Handled.Reply) > 0},
	} {
		if f.is {
			flags |= f.bit
		}
	}
	return flags
}

// appendRecord appends a record and returns its entry: its header and the place of its body.
func appendRecord(b []byte, r, before *checkpoint.Record, start int64) ([]byte, *ledger.Entry) {
	b = codec.AppendHeader(b, r, before)
	body := len(b)
	b = codec.AppendBody(b, r)
	size := len(b) - body
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(size))
	b = append(b, length[:n]...)
	copy(b[body+n:], b[body:body+size])
	copy(b[body:], length[:n])
	body += n
	entry := &ledger.Entry{Record: header(r), At: start + int64(body), Size: size, Sum: sum(b[body : body+size])}
	return b, entry
}

// header returns the fields of a record that an entry keeps: those that codec.AppendHeader
// writes.
func header(r *checkpoint.Record) checkpoint.Record {
	return checkpoint.Record{
		ID: r.ID, Seq: r.Seq, Parent: r.Parent, Base: r.Base, Line: r.Line, Commits: r.Commits, Step: r.Step,
		Source: r.Source, Fingerprint: r.Fingerprint, Graph: r.Graph, Created: r.Created, Snapshot: r.Snapshot,
	}
}

// appendWrites appends pending writes, each encoded as a difference from the one before.
func appendWrites(b []byte, writes []checkpoint.Write) []byte {
	b = binary.AppendUvarint(b, uint64(len(writes)))
	var before *checkpoint.Write
	for i := range writes {
		b = codec.AppendWrite(b, &writes[i], before)
		before = &writes[i]
	}
	return b
}

// readEvent decodes the payload of a frame, which starts at byte start of the file. head returns
// the entry of a namespace's newest record, or nil.
func readEvent(payload []byte, start int64, head func(namespace string) *ledger.Entry) (*ledger.Event, error) {
	r := codec.NewReader(payload)
	flags := r.Uvarint()
	e := &ledger.Event{
		Opens: flags&evOpens != 0, Ends: flags&evEnds != 0,
		Releases: flags&evReleases != 0, Restores: flags&evRestores != 0,
		Retries: flags&evRetries != 0, Progress: flags&evProgress != 0,
	}
	if flags&evTimed != 0 {
		e.Time = codec.Time(r.Varint())
	}
	if flags&evStatus != 0 {
		e.Status = checkpoint.Status(r.Byte())
	}
	if flags&(evOpens|evRestores) != 0 {
		e.Holder = r.String()
	}
	if flags&evRestores != 0 {
		e.Fence, e.Attempts = r.ID(), r.Int()
	}
	if flags&evWake != 0 {
		var wake time.Time
		if micro := r.Varint(); micro != 0 {
			wake = codec.Time(micro)
		}
		e.Wake = &wake
	}
	if flags&evAbout != 0 {
		e.About = &ledger.About{
			Created: codec.Time(r.Varint()), Birth: r.ID(), Graph: r.String(), Title: r.String(), Labels: r.Labels(),
			Priority: checkpoint.Priority(r.Byte()),
		}
	}
	if flags&evRecords != 0 {
		e.Namespace = r.String()
		readEntries(r, e, payload, start, head(e.Namespace))
	}
	if flags&evWrites != 0 {
		readWrites(r, e)
	}
	if flags&evMessages != 0 {
		readMessages(r, e)
	}
	if flags&evHandled != 0 {
		e.Handled = readHandled(r)
	}
	if flags&evReplies != 0 {
		e.Replies, e.Handled.Reply = r.Uvarint(), readPayloads(r)
	}
	return e, r.End()
}

// readEntries decodes the records of an event into entries, which point at their payloads in the
// file. last is the newest record of the namespace before them, or nil.
func readEntries(r *codec.Reader, e *ledger.Event, payload []byte, start int64, last *ledger.Entry) {
	var before *checkpoint.Record
	if last != nil {
		before = &last.Record
	}
	for range r.Count() {
		entry := &ledger.Entry{Record: r.Header(before), Size: r.Int()}
		at := r.Offset()
		entry.At = start + int64(at)
		r.Skip(entry.Size)
		if r.Err() != nil {
			return
		}
		entry.Sum = sum(payload[at : at+entry.Size])
		e.Entries = append(e.Entries, entry)
		before = &entry.Record
	}
}

// readWrites decodes what appendWrites has encoded.
func readWrites(r *codec.Reader, e *ledger.Event) {
	var before *checkpoint.Write
	for range r.Count() {
		w := r.Write(before)
		if r.Err() != nil {
			return
		}
		e.Writes = append(e.Writes, w)
		before = &w
	}
}
