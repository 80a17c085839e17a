package archive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Writer writes an archive. It must not be used concurrently.
type Writer struct {
	out      *bufio.Writer
	table    *crc32.Table
	offset   uint64
	versions uint64
	frame    []byte // reused
	err      error  // of out; final
	closed   bool
}

// NewWriter returns a Writer to w. It writes no byte before the first Add or Close. The caller
// closes w after Close of the Writer.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 64<<10), table: castagnoli()}
}

// Add writes one version. v names it; items are those of Saver.Export.
//
// If items yields an error, Add returns it and marks the version as incomplete. Then other
// versions can still be added. After an error of the underlying writer, Add and Close return that
// error without reading items. An item of more than MaxItem bytes is an error of its version.
func (w *Writer) Add(v checkpoint.Version, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if w.closed {
		return errors.New("archive: Add after Close")
	}
	w.header()
	if w.put(kindVersion, appendVersion(w.begin(), &v)); w.err != nil {
		return w.err
	}
	w.versions++
	n, err := w.items(items)
	if w.err != nil {
		return w.err
	}
	text := ""
	if err != nil {
		if text = err.Error(); text == "" {
			text = "unknown"
		}
	}
	w.put(kindEnd, wire.AppendString(wire.AppendUint(wire.AppendArrayLen(w.begin(), 2), n), text))
	return errors.Join(err, w.err)
}

// items writes the items of a version, and returns their number.
func (w *Writer) items(items iter.Seq2[checkpoint.ExportItem, error]) (n uint64, err error) {
	for item, err := range items {
		if err != nil {
			return n, err
		}
		var kind byte
		frame := w.begin()
		switch {
		case item.Thread != nil:
			kind, frame = kindThread, appendThread(frame, item.Thread)
		case item.Record != nil:
			kind, frame = kindRecord, appendRecord(frame, item.Record)
		case item.Write != nil:
			kind, frame = kindWrite, appendWrite(frame, item.Write)
		case item.Message != nil:
			kind, frame = kindMessage, appendMessage(frame, item.Message)
		default:
			return n, errors.New("archive: an empty item; want a thread, a record, a write or a message")
		}
		if size := len(frame) - frameHead; size > MaxItem {
			return n, fmt.Errorf("archive: an item of %d bytes; want at most %d", size, MaxItem)
		}
		if w.put(kind, frame); w.err != nil {
			return n, w.err
		}
		n++
	}
	return n, nil
}

// Close writes the end of the archive. A file without it is incomplete. Close does not close the
// underlying writer. A second Close does nothing.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	w.header()
	w.put(kindLast, wire.AppendUint(wire.AppendArrayLen(w.begin(), 1), w.versions))
	if w.err == nil {
		w.failed(w.out.Flush())
	}
	return w.err
}

func (w *Writer) header() {
	if w.offset == 0 && w.err == nil {
		w.write(header())
	}
}

// header returns the first bytes of an archive.
func header() []byte { return binary.BigEndian.AppendUint32([]byte(magic), Format) }

// begin returns a buffer with room for the head of a frame.
func (w *Writer) begin() []byte {
	const keep = 1 << 20
	if cap(w.frame) > keep {
		w.frame = nil
	}
	return append(w.frame[:0], make([]byte, frameHead)...)
}

// put writes a frame. Its data follows the head, which put fills in.
func (w *Writer) put(kind byte, frame []byte) {
	w.frame = frame
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-frameHead))
	sum := checksum(w.table, w.offset, frame)
	w.write(frame)
	w.write(binary.BigEndian.AppendUint32(nil, sum))
}

// checksum returns the checksum of a frame at an offset.
func checksum(table *crc32.Table, offset uint64, parts ...[]byte) uint32 {
	sum := crc32.Update(0, table, binary.BigEndian.AppendUint64(nil, offset))
	for _, part := range parts {
		sum = crc32.Update(sum, table, part)
	}
	return sum
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.out.Write(b)
	w.offset += uint64(n)
	w.failed(err)
}

func (w *Writer) failed(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("archive: write: %w", err)
	}
}
