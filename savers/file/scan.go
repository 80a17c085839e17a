package file

import (
	"errors"
	"fmt"
	"io"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// scan reads the frames from the end of the known ones up to size.
func (v *volume) scan(size int64) error {
	if v.end == 0 {
		whole, err := v.scanMagic(size)
		if !whole || err != nil {
			return err
		}
	}
	fr := newFrames(v.path, v.h, max(v.end, int64(len(magic))), size, v.salt)
	for {
		at := fr.at
		head, payload, err := fr.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := v.take(at, payload); err != nil {
			return err
		}
		v.last, v.head, v.end, v.salt = at, head, fr.at, fr.salt
	}
}

// scanMagic reports whether the file starts with the whole magic.
func (v *volume) scanMagic(size int64) (bool, error) {
	var start [len(magic)]byte
	if size < int64(len(magic)) {
		return false, nil
	}
	if _, err := v.h.ReadAt(start[:], 0); err != nil {
		return false, fmt.Errorf("file: %w", err)
	}
	if string(start[:]) == magic {
		return true, nil
	}
	if start != [len(magic)]byte{} {
		return false, v.foreign(start[:])
	}
	at, err := newFrames(v.path, v.h, 0, size, 0).later(0)
	if err == nil && at >= 0 {
		err = damaged(v.path, 0, "zeros, and there is a whole frame at byte %d", at)
	}
	if errors.Is(err, errTorn) { // the file has become shorter
		err = nil
	}
	return false, err
}

// errFormat says that a file was written by another version of this package.
var errFormat = errors.New("another format")

// foreign returns the error for a file that does not start as this version of the package writes
// it.
func (v *volume) foreign(start []byte) error {
	last := len(magic) - 1
	if n := start[last]; string(start[:last]) == magic[:last] && ('0' <= n && n <= '9' || 'A' <= n && n <= 'Z') {
		return fmt.Errorf("file: %s: it has format %c, and this version of graphgen reads format %c: %w (%w); delete the "+
			"thread, or export it by the version that wrote it", v.path, start[last], magic[last], errFormat, checkpoint.ErrDamaged)
	}
	return damaged(v.path, 0, "it starts with %q, not with %q", start, magic)
}

// take adds a frame's payload to the known state.
func (v *volume) take(at int64, payload []byte) error {
	if v.v == nil {
		return v.takeHeader(at, payload)
	}
	e, err := readEvent(payload, at+frameHead, v.v.Head)
	if err == nil {
		err = v.v.Verify(e)
	}
	if err != nil {
		return damaged(v.path, at, "%v", err)
	}
	v.v.Apply(e)
	return nil
}

// takeHeader checks the header of a file and makes v the empty version that it names. at is the
// byte at which the header begins.
func (v *volume) takeHeader(at int64, payload []byte) error {
	id, number, err := readHeader(payload)
	switch {
	case err != nil:
		return damaged(v.path, at, "%v", err)
	case v.id != "" && id != v.id, baseName(id) != v.base:
		return damaged(v.path, at, "it is the file of thread %q, by its header", short(id))
	}
	v.id, v.v = id, ledger.New(id, number)
	return nil
}

// short cuts a thread id for an error message.
func short(id string) string {
	if len(id) > 64 {
		return id[:64] + "..."
	}
	return id
}
