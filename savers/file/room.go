package file

import (
	"errors"
	"fmt"
	"io"
)

// A file may end in zeros: room for frames to come. A sync is slower after the size of the file
// has changed than after an overwrite. So a run that writes many frames enlarges the file in
// advance. The write that ends the run cuts the rest off. To a reader, room is a torn end. The
// next run uses the room of a run that was killed.

// longRun is the number of writes of a run after which its file gets room, by default.
const longRun = 16

// Room is for about eight writes as large as the last, within these bounds.
const (
	leastRoom = 32 << 10
	mostRoom  = 1 << 20
)

// prepare makes room for n bytes at the end, and for more if the run is long. Without room,
// writes are only slower.
func (v *volume) prepare(n int64) {
	if v.end+n <= v.room {
		return
	}
	from, to := max(v.room, v.end), v.end+n+min(max(8*n, leastRoom), mostRoom)
	v.room = 0
	if v.writes < v.s.longRun || v.s.disk.extend == nil {
		return
	}
	if v.s.disk.extend(v.h.File, from, to) != nil {
		v.writes = 0 // not soon again
		return
	}
	v.room = to
}

// trim cuts off the room at the end of a run. If that fails, the next run uses the room.
func (v *volume) trim() {
	if v.room > v.end && v.s.disk.truncate(v.h.File, v.end) == nil {
		v.room = 0
	}
}

// atEnd reports whether no frame starts at the end of the known frames, in a file of a larger
// size. Within one boot of the system, only zeros follow zeros at the place of a frame's head.
func (v *volume) atEnd(size int64) (bool, error) {
	if v.v == nil {
		return false, nil
	}
	var head [frameHead]byte
	b := head[:min(frameHead, size-v.end)]
	if _, err := v.h.ReadAt(b, v.end); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("file: %w", err)
	}
	return head == [frameHead]byte{}, nil
}

// isRoom reports whether only room follows the last whole frame in a file of some size. The
// caller must hold the lock.
func (v *volume) isRoom(size int64) (bool, error) {
	if v.v == nil || size-v.end > 2*mostRoom {
		return false, nil
	}
	if size == v.room {
		return true, nil
	}
	b := make([]byte, size-v.end)
	if _, err := v.h.ReadAt(b, v.end); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("file: %w", err)
	}
	for _, c := range b {
		if c != 0 {
			return false, nil
		}
	}
	v.room = size
	return true, nil
}
