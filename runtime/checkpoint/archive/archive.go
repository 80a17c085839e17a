// Package archive (experimental) stores versions of threads in a file, independently of any saver.
// graphctl export writes such files, and graphctl import reads them.
//
// A [Writer] takes what Saver.Export yields, and a [Reader] yields what Saver.Import takes. Both
// work on streams and keep one item in memory. An archive contains any number of versions, of any
// threads. Payloads are as the exporting saver returns them. So an archive of a saver that
// decrypts is not encrypted. [Continue] continues an archive after a crash of its writer.
//
// # Format
//
// An archive is a header and frames. Numbers of the header and of frames are big-endian.
//
//	header   "graphgen archive", in 16 bytes
//	         number of the format, in 4 bytes: [Format]
//	frame    kind, one byte
//	         length of the data, in 4 bytes; at most [MaxItem]
//	         data
//	         CRC-32C, in 4 bytes, of: the offset of the frame in the archive, in 8 bytes; its kind,
//	         length and data
//
// The checksum covers the offset, so a frame that is missing, moved or repeated is found. The
// kinds of frames:
//
//	V  a version begins: the thread, its number, when it was released, its head, the number of the
//	   root's records, its status
//	T  the thread: its fields, without Questions
//	R  a record
//	W  a pending write, or the description of a schema
//	M  a message
//	E  the version ends: the number of items since its V, and the text of the error that ended its
//	   export, which is empty if it is complete
//	Z  the archive ends: the number of its versions
//
// The items of a version are in the order of Saver.Export: T, then R, W and M. The data of a frame
// is one MessagePack array. Its elements are in the order of the fields in archive/encode.go. An
// id is binary of 16 bytes, or nil for none. A list is an array, and a map is a map of strings. A
// time is a timestamp. A payload is binary, or nil for none. An archive in another format is a
// [*FormatError].
package archive

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Format is the number of the format that this package writes and reads.
const Format = 1

// MaxItem is the greatest length of the data of a frame, in bytes.
const MaxItem = 1 << 30

const (
	magic      = "graphgen archive"
	headerSize = len(magic) + 4
	frameHead  = 5
)

// The kinds of frames.
const (
	kindVersion = 'V'
	kindThread  = 'T'
	kindRecord  = 'R'
	kindWrite   = 'W'
	kindMessage = 'M'
	kindEnd     = 'E'
	kindLast    = 'Z'
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// ErrIncomplete is the error of a version whose export failed. The archive has some of its items
// only. Test for it with errors.Is.
var ErrIncomplete = errors.New("the export of the version failed")

// FormatError reports an archive in a format that this package does not read.
type FormatError struct{ Found, Want uint32 }

func (e *FormatError) Error() string {
	return fmt.Sprintf("archive: format %d; this program reads format %d; use the version of graphgen that wrote the archive", e.Found, e.Want)
}

// DamagedError reports bytes that no Writer has written. It is a checkpoint.ErrDamaged.
type DamagedError struct {
	Offset int64 // of the frame with the fault
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("archive: byte %d: %s: %s; export the threads again", e.Offset, checkpoint.ErrDamaged, e.Reason)
}

// Is reports whether target is checkpoint.ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == checkpoint.ErrDamaged }
