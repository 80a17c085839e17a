package codec

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// sumSize is how many bytes a checksum takes.
const sumSize = 4

// AppendRecordSum appends the checksum of r to b, where the output of AppendBody begins at from.
// The checksum also covers the header of r, the thread and the namespace. It therefore detects a
// changed record and a record in the place of another.
func AppendRecordSum(b []byte, from int, thread, namespace string, r *checkpoint.Record) []byte {
	return binary.LittleEndian.AppendUint32(b, recordSum(b[from:], thread, namespace, r))
}

// CutRecordSum returns the body that AppendRecordSum found in b, and whether the checksum behind
// it is that of r. Of r only the header counts.
func CutRecordSum(b []byte, thread, namespace string, r *checkpoint.Record) (body []byte, ok bool) {
	body, sum, ok := cutSum(b)
	return body, ok && sum == recordSum(body, thread, namespace, r)
}

// CutSum is CutRecordSum for a header that was not read: header is what AppendHeader wrote of the
// record without one before it.
func CutSum(b []byte, thread, namespace string, header []byte) (body []byte, ok bool) {
	body, sum, ok := cutSum(b)
	return body, ok && sum == headerSum(body, thread, namespace, header)
}

func headerSum(body []byte, thread, namespace string, header []byte) uint32 {
	var room [256]byte
	b := append(AppendString(AppendString(room[:0], thread), namespace), header...)
	return crc32.Update(checksum(b), crc32.MakeTable(crc32.Castagnoli), body)
}

func recordSum(body []byte, thread, namespace string, r *checkpoint.Record) uint32 {
	var room [256]byte
	b := AppendString(AppendString(room[:0], thread), namespace)
	b = AppendHeader(b, r, nil)
	return crc32.Update(checksum(b), crc32.MakeTable(crc32.Castagnoli), body)
}

// AppendWriteSum appends the checksum of a pending write, which is all of b, and of its thread.
func AppendWriteSum(b []byte, thread string) []byte {
	return binary.LittleEndian.AppendUint32(b, writeSum(b, thread))
}

// CutWriteSum returns what AppendWriteSum was given as b, and whether the checksum behind it is
// right.
func CutWriteSum(b []byte, thread string) (write []byte, ok bool) {
	write, sum, ok := cutSum(b)
	return write, ok && sum == writeSum(write, thread)
}

func writeSum(b []byte, thread string) uint32 {
	var room [128]byte
	return crc32.Update(checksum(AppendString(room[:0], thread)), crc32.MakeTable(crc32.Castagnoli), b)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func cutSum(b []byte) (rest []byte, sum uint32, ok bool) {
	n := len(b) - sumSize
	if n < 0 {
		return nil, 0, false
	}
	return b[:n:n], binary.LittleEndian.Uint32(b[n:]), true
}
