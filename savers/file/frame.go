package file

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"
	"os"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A segment is a file of the log: a header and frames. All numbers are little-endian.
//
//	header  magic, number of the segment, salt, revision, oldest segment, id of the frame before,
//	        id of the header
//	frame   head, values, operations, id of the frame
//	head    checksum; lengths of operations and values; checksums of both; id of the frame before;
//	        newest revision after the frame; kind; oldest segment
//
// The oldest segment is the number of the first one that has rows, after the frame. Those before
// it may have been removed, and no others.
//
// The checksum of a head covers the salt of its segment and its offset, so bytes of another place
// are no frame. The id of a frame is a checksum of its head, which has all other checksums and the
// id of the frame before. So an id stands for the whole log up to it.
const (
	magic      = "ggsaverA" // the last byte is the number of the format: 0 to 9, then A to Z
	headerSize = 56
	headSize   = 44
	idSize     = 8

	maxFrame = 1 << 30 // bytes of the values, and of the operations
)

// The kinds of frames.
const (
	changes = 1 // of rows
	ended   = 2 // the next segment follows
)

// The operations of a frame. The low bits are the table.
const (
	opPut    = 0x10 // key, length of the value, revision if the table has them
	opDelete = 0x20 // key
	opRange  = 0x30 // keys from and to
	opThread = 0x40 // id of a thread that the change checks, for Repair
	opTable  = 0x0f
)

// sums returns the checksum of a part of a frame.
func sums(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// idOf returns the id of a frame or of a header.
func idOf(salt uint64, b []byte) uint64 {
	table := crc64.MakeTable(crc64.ECMA)
	return crc64.Update(crc64.Checksum(binary.LittleEndian.AppendUint64(nil, salt), table), table, b)
}

// header is the begin of a segment.
type header struct {
	number      uint64
	salt        uint64
	rev, oldest uint64
	before, id  uint64
}

// encode returns the stored form of h, and sets its id.
func (h *header) encode() []byte {
	b := append(make([]byte, 0, headerSize), magic...)
	for _, n := range [...]uint64{h.number, h.salt, h.rev, h.oldest, h.before} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	h.id = idOf(h.salt, b)
	return binary.LittleEndian.AppendUint64(b, h.id)
}

// decodeHeader returns the header of a segment; ok is false if the bytes are none.
func decodeHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return h, false
	}
	for i, n := range [...]*uint64{&h.number, &h.salt, &h.rev, &h.oldest, &h.before, &h.id} {
		*n = binary.LittleEndian.Uint64(b[8+8*i:])
	}
	return h, h.id == idOf(h.salt, b[:headerSize-idSize])
}

// head is the head of a frame.
type head struct {
	ops, values       uint32 // lengths
	opsSum, valuesSum uint32
	before            uint64
	rev               uint64
	kind, oldest      uint32
}

// size returns the size of the whole frame.
func (h *head) size() int64 { return headSize + int64(h.values) + int64(h.ops) + idSize }

// encode writes the stored form of h, for a place in a segment, and returns the id of the frame.
func (h *head) encode(b []byte, salt uint64, at int64) (id uint64) {
	le := binary.LittleEndian
	for i, n := range [...]uint32{h.ops, h.values, h.opsSum, h.valuesSum} {
		le.PutUint32(b[4+4*i:], n)
	}
	le.PutUint64(b[20:], h.before)
	le.PutUint64(b[28:], h.rev)
	le.PutUint32(b[36:], h.kind)
	le.PutUint32(b[40:], h.oldest)
	le.PutUint32(b, headSum(b, salt, at))
	return idOf(salt, b[:headSize])
}

// headSum returns the checksum of a head at a place.
func headSum(b []byte, salt uint64, at int64) uint32 {
	var place [16 + headSize - 4]byte
	binary.LittleEndian.PutUint64(place[:], salt)
	binary.LittleEndian.PutUint64(place[8:], uint64(at)) //nolint:gosec // an offset
	copy(place[16:], b[4:headSize])
	return sums(place[:])
}

// decodeHead returns the head of a frame at a place; ok is false if the bytes are none.
func decodeHead(b []byte, salt uint64, at int64) (h head, ok bool) {
	le := binary.LittleEndian
	if len(b) < headSize || le.Uint32(b) != headSum(b, salt, at) {
		return h, false
	}
	for i, n := range [...]*uint32{&h.ops, &h.values, &h.opsSum, &h.valuesSum} {
		*n = le.Uint32(b[4+4*i:])
	}
	h.before, h.rev, h.kind = le.Uint64(b[20:]), le.Uint64(b[28:]), le.Uint32(b[36:])
	h.oldest = le.Uint32(b[40:])
	return h, true
}

// frame is a frame that is being made.
type frame struct {
	b       []byte // room for the head, then the values
	ops     []byte
	changes int // of rows
}

// newFrame returns an empty frame.
func newFrame() *frame { return &frame{b: make([]byte, headSize, 4096)} }

// empty reports whether f changes nothing.
func (f *frame) empty() bool { return f.changes == 0 }

// put adds a row, and returns the offset of its value in the frame.
func (f *frame) put(t rows.Table, key string, rev uint64, value []byte) (at int) {
	f.changes++
	f.ops = codec.AppendString(append(f.ops, opPut|byte(t)), key)
	f.ops = binary.AppendUvarint(f.ops, uint64(len(value)))
	if t.Revised() {
		f.ops = binary.AppendUvarint(f.ops, rev)
	}
	at = len(f.b)
	f.b = append(f.b, value...)
	return at
}

// remove adds a deletion.
func (f *frame) remove(d *rows.Range) {
	f.changes++
	if d.To == nil {
		f.ops = codec.AppendString(append(f.ops, opDelete|byte(d.Table)), string(d.Bytes))
		return
	}
	f.ops = codec.AppendString(codec.AppendString(append(f.ops, opRange|byte(d.Table)), string(d.Bytes)), string(d.To))
}

// checks adds the thread of a check.
func (f *frame) checks(thread string) { f.ops = codec.AppendString(append(f.ops, opThread), thread) }

// encode returns the bytes of f and its id.
func (f *frame) encode(h head, salt uint64, at int64) (b []byte, id uint64) {
	values := f.b[headSize:]
	h.ops, h.values = uint32(len(f.ops)), uint32(len(values)) //nolint:gosec // at most maxFrame
	h.opsSum, h.valuesSum = sums(f.ops), sums(values)
	id = h.encode(f.b, salt, at)
	return binary.LittleEndian.AppendUint64(append(f.b, f.ops...), id), id
}

// op is an operation of a frame.
type op struct {
	kind  byte
	table rows.Table
	key   string
	to    string // of opRange
	rev   uint64
	at, n uint32 // the value: its offset in the values, and its length
}

// decodeOps calls do with each operation of a frame.
func decodeOps(b []byte, values uint32, do func(o *op) error) error {
	in := codec.NewReader(b)
	var o op
	at := uint64(0)
	for in.Err() == nil && in.Offset() < len(b) {
		code := in.Byte()
		o = op{kind: code &^ opTable, table: rows.Table(code & opTable), key: in.String()}
		switch o.kind {
		case opPut:
			n := in.Uvarint()
			if o.table.Revised() {
				o.rev = in.Uvarint()
			}
			if n > uint64(values)-at {
				return fmt.Errorf("a value of %d bytes, of %d that are left: %w", n, uint64(values)-at, checkpoint.ErrDamaged)
			}
			o.at, o.n = uint32(at), uint32(n) //nolint:gosec // at most values
			at += n
		case opRange:
			o.to = in.String()
		case opDelete, opThread:
		default:
			return fmt.Errorf("an operation of kind %#x: %w", code, checkpoint.ErrDamaged)
		}
		if int(o.table) >= rows.Tables {
			return fmt.Errorf("a table of number %d: %w", o.table, checkpoint.ErrDamaged)
		}
		if err := in.Err(); err != nil {
			return err
		}
		if err := do(&o); err != nil {
			return err
		}
	}
	if in.Err() == nil && at != uint64(values) {
		return fmt.Errorf("%d bytes of values, and operations with %d: %w", values, at, checkpoint.ErrDamaged)
	}
	return in.Err()
}

// window reads a file from its begin to its end, in large pieces.
type window struct {
	f    io.ReaderAt
	size int64
	salt uint64
	step int // how many bytes it reads at a time

	at int64 // where b begins
	b  []byte
}

// newWindow returns a window on the current bytes of a file, which reads some of them at a time.
func newWindow(f *os.File, salt uint64, step int) (*window, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &window{f: f, size: info.Size(), salt: salt, step: step}, nil
}

// bytes returns n bytes at an offset, or fewer at the end of the file. They are valid until the
// next call.
func (w *window) bytes(at int64, n int) ([]byte, error) {
	if at >= w.size { // such as of a file that was cut off meanwhile
		return nil, nil
	}
	n = int(min(int64(n), w.size-at))
	if at < w.at || at+int64(n) > w.at+int64(len(w.b)) {
		size := int(min(int64(max(n, w.step)), w.size-at))
		if size > cap(w.b) {
			w.b = make([]byte, size)
		}
		w.b = w.b[:size]
		w.at = at
		read, err := w.f.ReadAt(w.b, at)
		w.b = w.b[:read]
		if err != nil && err != io.EOF {
			return nil, err
		}
		n = min(n, read)
	}
	from := int(at - w.at)
	return w.b[from : from+n], nil
}

// head returns the head of the frame at an offset; ok is false if there is none.
func (w *window) head(at int64) (h head, id uint64, ok bool, err error) {
	b, err := w.bytes(at, headSize)
	if err != nil {
		return h, 0, false, err
	}
	if h, ok = decodeHead(b, w.salt, at); !ok || h.ops > maxFrame || h.values > maxFrame {
		return h, 0, false, nil
	}
	return h, idOf(w.salt, b), true, nil
}

// frame returns the frame at an offset with its operations, which are valid until the next call.
// ok is false if there is no whole frame. The values of a frame are checked if no frame follows:
// else they were synced before that one was written.
func (w *window) frame(at int64) (h head, id uint64, ops []byte, ok bool, err error) {
	h, id, ok, err = w.head(at)
	if err != nil || !ok || at+h.size() > w.size {
		return h, id, nil, false, err
	}
	from, n := at+headSize+int64(h.values), int(h.ops)+idSize
	b, err := w.bytes(from, n+headSize)
	if err != nil || len(b) < n {
		return h, id, nil, false, err
	}
	if next, followed := decodeHead(b[n:], w.salt, at+h.size()); !followed || next.before != id {
		if ok, err = w.hasValues(at, &h); err != nil || !ok {
			return h, id, nil, false, err
		}
		if b, err = w.bytes(from, n); err != nil || len(b) < n {
			return h, id, nil, false, err
		}
	}
	ops = b[:h.ops]
	return h, id, ops, sums(ops) == h.opsSum && binary.LittleEndian.Uint64(b[h.ops:]) == id, nil
}

// hasValues reports whether the values of a frame have their checksum.
func (w *window) hasValues(at int64, h *head) (bool, error) {
	sum, table := uint32(0), crc32.MakeTable(crc32.Castagnoli)
	for from, to := at+headSize, at+headSize+int64(h.values); from < to; {
		b, err := w.bytes(from, int(min(to-from, int64(w.step))))
		if err != nil || len(b) == 0 {
			return false, err
		}
		sum = crc32.Update(sum, table, b)
		from += int64(len(b))
	}
	return sum == h.valuesSum, nil
}

// later returns the offset of the first whole frame at or after an offset, or -1.
func (w *window) later(at int64) (int64, error) {
	for ; at+headSize <= w.size; at++ {
		if _, _, _, ok, err := w.frame(at); ok || err != nil {
			return at, err
		}
	}
	return -1, nil
}
