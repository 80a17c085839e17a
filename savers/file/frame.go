package file

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// A file is the magic and frames. A frame is the length of its payload, the payload's CRC32C and the CRC32C of
// those eight bytes, little-endian, and the payload. The length has a checksum of its own because a frame that
// runs past the end of the file is one that was never acknowledged: a damaged length must not look like that.
// The first frame is the header; every other is one event.
const (
	magic     = "ggsaver1"
	frameHead = 12
	maxFrame  = math.MaxUint32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// damaged returns an ErrDamaged that says where and what.
func damaged(path string, offset int64, format string, args ...any) error {
	return fmt.Errorf("file: %s: at byte %d: %s: %w; restore the file from a copy, or delete the thread",
		path, offset, fmt.Sprintf(format, args...), checkpoint.ErrDamaged)
}

// openFrame leaves room for a frame's head; closeFrame fills it in. Between them the payload is appended.
func openFrame(b []byte) []byte { return append(b, make([]byte, frameHead)...) }

func closeFrame(b []byte, at int) error {
	payload := b[at+frameHead:]
	if uint64(len(payload)) > maxFrame {
		return fmt.Errorf("file: one write of %d bytes; want less than 4 GiB", len(payload))
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(b[at+4:], sum(payload))
	binary.LittleEndian.PutUint32(b[at+8:], sum(b[at:at+8]))
	return nil
}

// errTorn says that the frames end before the file does: what follows was never acknowledged.
var errTorn = errors.New("torn")

// frames reads whole frames one after the other.
type frames struct {
	path string
	r    *bufio.Reader
	at   int64 // where the next frame starts
	size int64 // of the file
	buf  []byte
}

func newFrames(path string, f io.ReaderAt, at, size int64) *frames {
	return &frames{path: path, r: bufio.NewReaderSize(io.NewSectionReader(f, at, size-at), 32<<10), at: at, size: size}
}

// next returns the head and the payload of the next frame, valid until the next call. At the end of the file it
// returns io.EOF, and errTorn when what is left is not a whole frame.
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
	if binary.LittleEndian.Uint32(head[8:]) != sum(head[:8]) {
		return head, nil, fr.badHead(head)
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
	if binary.LittleEndian.Uint32(head[4:]) != sum(payload) {
		return head, nil, damaged(fr.path, fr.at, "the checksum of a frame of %d bytes does not match", n)
	}
	fr.at += frameHead + n
	return head, payload, nil
}

// badHead tells a place that was allotted but never written, which reads as zeros to the end, from damage.
func (fr *frames) badHead(head [frameHead]byte) error {
	if head != [frameHead]byte{} {
		return damaged(fr.path, fr.at, "the checksum of a frame's length does not match")
	}
	for {
		c, err := fr.r.ReadByte()
		switch {
		case err == io.EOF:
			return errTorn
		case err != nil:
			return fr.read(err)
		case c != 0:
			return damaged(fr.path, fr.at, "zeros in the place of a frame")
		}
	}
}

// read wraps an error of reading. The file may have become shorter meanwhile: then it is read again.
func (fr *frames) read(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return fmt.Errorf("file: read %s: %w", fr.path, err)
}

// headerFormat is the first byte of a header.
const headerFormat = 1

// appendHeader appends the magic and the header frame of a version.
func appendHeader(b []byte, id string, number int) ([]byte, error) {
	at := len(b) + len(magic)
	b = openFrame(append(b, magic...))
	b = binary.LittleEndian.AppendUint32(append(b, headerFormat), uint32(number))
	b = append(b, id...)
	return b, closeFrame(b, at)
}

// readHeader reads what follows the magic.
func readHeader(payload []byte) (id string, number int, err error) {
	r := codec.NewReader(payload)
	if format := r.Byte(); format != headerFormat {
		return "", 0, fmt.Errorf("format %d, which this version of graphgen does not know", format)
	}
	if len(payload) < 6 {
		return "", 0, errors.New("a header without an id")
	}
	n := binary.LittleEndian.Uint32(payload[1:])
	if n == 0 || n > math.MaxInt32 {
		return "", 0, fmt.Errorf("version number %d", n)
	}
	return string(payload[5:]), int(n), nil
}

// What the first byte of an event says.
const (
	evRecords = 1 << iota
	evOpens
	evEnds
	evReleases
	evWrites
	evStatus
	evRestores
	evTimed = evOpens | evEnds | evReleases | evRestores
)

// appendEvent appends one event as a frame. Its records are given whole beside it; their entries, with the places of
// their bodies, are added to e. before is the header of the record before them, nil for none, and start the offset
// in the file of b's first byte.
func appendEvent(b []byte, e *ledger.Event, records []checkpoint.Record, before *checkpoint.Record, start int64) ([]byte, error) {
	at := len(b)
	b = openFrame(b)
	flags := eventFlags(e, len(records))
	b = append(b, flags)
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
	return b, closeFrame(b, at)
}

func eventFlags(e *ledger.Event, records int) (flags byte) {
	for _, f := range [...]struct {
		bit byte
		is  bool
	}{
		{evRecords, records > 0}, {evOpens, e.Opens}, {evEnds, e.Ends}, {evReleases, e.Releases},
		{evWrites, len(e.Writes) > 0}, {evStatus, e.Status != 0}, {evRestores, e.Restores},
	} {
		if f.is {
			flags |= f.bit
		}
	}
	return flags
}

// appendRecord appends a record and returns its entry, which has its header and the place of its body.
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

// header returns what an entry keeps of a record: what codec.AppendHeader writes.
func header(r *checkpoint.Record) checkpoint.Record {
	return checkpoint.Record{
		ID: r.ID, Seq: r.Seq, Parent: r.Parent, Base: r.Base, Line: r.Line, Commits: r.Commits, Step: r.Step,
		Source: r.Source, Fingerprint: r.Fingerprint, Graph: r.Graph, Created: r.Created, Snapshot: r.Snapshot,
	}
}

func appendWrites(b []byte, writes []checkpoint.Write) []byte {
	b = binary.AppendUvarint(b, uint64(len(writes)))
	var before *checkpoint.Write
	for i := range writes {
		b = codec.AppendWrite(b, &writes[i], before)
		before = &writes[i]
	}
	return b
}

// readEvent reads the payload of a frame, which starts at byte start of the file. head returns the header of a
// namespace's newest record, nil for none.
func readEvent(payload []byte, start int64, head func(namespace string) *ledger.Entry) (*ledger.Event, error) {
	r := codec.NewReader(payload)
	flags := r.Byte()
	e := &ledger.Event{
		Opens: flags&evOpens != 0, Ends: flags&evEnds != 0,
		Releases: flags&evReleases != 0, Restores: flags&evRestores != 0,
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
		e.Fence = r.ID()
	}
	if flags&evRecords != 0 {
		e.Namespace = r.String()
		readEntries(r, e, payload, start, head(e.Namespace))
	}
	if flags&evWrites != 0 {
		readWrites(r, e)
	}
	return e, r.End()
}

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
