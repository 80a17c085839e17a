package archive

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Reader reads an archive. It must not be used concurrently.
type Reader struct {
	in       *bufio.Reader
	table    *crc32.Table
	offset   uint64
	versions uint64
	items    uint64 // of the present version, so far
	inside   bool   // a version has begun and not ended
	err      error  // final; io.EOF after the last version
}

// NewReader returns a Reader of r. It reads the header. It returns a *FormatError for an archive
// in another format, a *DamagedError if r is no archive, and otherwise the error of r.
func NewReader(r io.Reader) (*Reader, error) {
	a := &Reader{in: bufio.NewReaderSize(r, 64<<10), table: castagnoli()}
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(a.in, header); err != nil {
		return nil, a.cut(err, "it is too short for an archive")
	}
	if !bytes.HasPrefix(header, []byte(magic)) {
		return nil, a.damaged("the file is not an archive, which begins with %q", magic)
	}
	if found := binary.BigEndian.Uint32(header[len(magic):]); found != Format {
		return nil, &FormatError{Found: found, Want: Format}
	}
	a.offset = uint64(headerSize)
	return a, nil
}

// Next returns the name of the next version. It skips items of the version before that Items has
// not yielded, and checks them. It returns io.EOF after the last version. Other errors are final:
// a *DamagedError if the archive is damaged or has no end, or the error of the underlying reader.
func (r *Reader) Next() (checkpoint.Version, error) {
	for r.inside && r.err == nil {
		_, _ = r.item() // its final errors are in r.err
	}
	if r.err != nil {
		return checkpoint.Version{}, r.err
	}
	at := r.offset
	kind, data, err := r.frame()
	if err != nil {
		return checkpoint.Version{}, r.final(err)
	}
	switch kind {
	case kindVersion:
		v, err := decode(data, "version", readVersion)
		if err != nil {
			return checkpoint.Version{}, r.final(damagedAt(at, err.Error()))
		}
		r.versions++
		r.inside, r.items = true, 0
		return v, nil
	case kindLast:
		return checkpoint.Version{}, r.final(r.last(at, data))
	}
	return checkpoint.Version{}, r.final(damagedAt(at, fmt.Sprintf("a frame %q where a version begins", kind)))
}

// last checks the last frame, and returns io.EOF if it is good.
func (r *Reader) last(at uint64, data []byte) error {
	n, err := decode(data, "end", func(r *wire.Reader, n *uint64) {
		r.FixedArray(1)
		*n = r.Uint64()
	})
	switch {
	case err != nil:
		return damagedAt(at, err.Error())
	case n != r.versions:
		return damagedAt(at, fmt.Sprintf("it has %d versions, and its end says %d", r.versions, n))
	}
	if _, err := r.in.ReadByte(); err == nil {
		return r.damaged("bytes follow the end of the archive")
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("archive: read: %w", err)
	}
	return io.EOF
}

// Items yields the items of the version that Next returned, once. An error ends the sequence:
// ErrIncomplete if the export of the version failed, and the final errors of Next. The caller
// owns the items.
func (r *Reader) Items() iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for r.inside {
			item, err := r.item()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// item returns the next item of the version. It returns io.EOF after the last one.
func (r *Reader) item() (item checkpoint.ExportItem, err error) {
	if r.err != nil {
		r.inside = false
		return item, r.err
	}
	at := r.offset
	kind, data, err := r.frame()
	if err != nil {
		r.inside = false
		return item, r.final(err)
	}
	r.items++
	switch kind {
	case kindThread:
		item.Thread, err = pointer(decode(data, "thread", readThread))
	case kindRecord:
		item.Record, err = pointer(decode(data, "record", readRecord))
	case kindWrite:
		item.Write, err = pointer(decode(data, "write", readWrite))
	case kindMessage:
		item.Message, err = pointer(decode(data, "message", readMessage))
	case kindEnd:
		r.inside = false
		return item, r.end(at, data)
	default:
		err = fmt.Errorf("a frame %q in a version", kind)
	}
	if err != nil {
		r.inside = false
		return checkpoint.ExportItem{}, r.final(damagedAt(at, err.Error()))
	}
	return item, nil
}

// end checks the end of a version. It returns io.EOF if the version is complete.
func (r *Reader) end(at uint64, data []byte) error {
	type end struct {
		items uint64
		text  string
	}
	e, err := decode(data, "end", func(r *wire.Reader, e *end) {
		r.FixedArray(2)
		e.items, e.text = r.Uint64(), r.Str()
	})
	switch n := r.items - 1; {
	case err != nil:
		return r.final(damagedAt(at, err.Error()))
	case e.items != n:
		return r.final(damagedAt(at, fmt.Sprintf("the version has %d items, and its end says %d", n, e.items)))
	case e.text != "":
		return fmt.Errorf("archive: %w: %s", ErrIncomplete, e.text)
	}
	return io.EOF
}

// pointer returns a pointer to v, or nil if err is not nil.
func pointer[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// frame reads a frame and checks its checksum.
func (r *Reader) frame() (kind byte, data []byte, err error) {
	head := make([]byte, frameHead)
	if _, err := io.ReadFull(r.in, head); err != nil {
		return 0, nil, r.cut(err, "the archive ends without its last frame")
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > MaxItem {
		return 0, nil, r.damaged("a frame of %d bytes, more than %d", size, MaxItem)
	}
	if data, err = readData(r.in, int(size)+4); err != nil {
		return 0, nil, r.cut(err, "the archive ends in a frame")
	}
	data, sum := data[:size], binary.BigEndian.Uint32(data[size:])
	if checksum(r.table, r.offset, head, data) != sum {
		return 0, nil, r.damaged("the checksum of the frame is wrong")
	}
	r.offset += uint64(frameHead) + uint64(size) + 4
	return head[0], data, nil
}

// readData reads n bytes. It allocates in steps, because a damaged length can be large.
func readData(in io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	if n <= step {
		data := make([]byte, n)
		_, err := io.ReadFull(in, data)
		return data, err
	}
	var b bytes.Buffer
	read, err := io.CopyN(&b, in, int64(n))
	if err == nil && read != int64(n) {
		err = io.ErrUnexpectedEOF
	}
	return b.Bytes(), err
}

// cut returns the error of a read that failed.
func (r *Reader) cut(err error, reason string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.damaged("%s", reason)
	}
	return fmt.Errorf("archive: read: %w", err)
}

func (r *Reader) damaged(format string, args ...any) error {
	return damagedAt(r.offset, fmt.Sprintf(format, args...))
}

func damagedAt(offset uint64, reason string) error {
	return &DamagedError{Offset: int64(offset), Reason: reason}
}

// final makes err the result of all later calls.
func (r *Reader) final(err error) error {
	r.err = err
	return err
}
