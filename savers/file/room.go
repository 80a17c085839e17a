package file

import (
	"errors"
	"fmt"
	"io"
)

// A file may end in zeros: room for frames to come. A sync of a file whose size has changed is slower than one of a
// file that has only been overwritten, so a run that writes many frames makes the file larger in advance, and the write
// that ends the run cuts the rest off. To a reader, room is a torn end. Where a run was killed, the next one uses its room.

// longRun is after how many writes of a run its file gets room, by default.
const longRun = 16

// Room is for about eight writes as large as the last, within these bounds.
const (
	leastRoom = 32 << 10
	mostRoom  = 1 << 20
)

// prepare makes room for n bytes at the end, and more, if the run is long. A file without room is as good, but slower.
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

// trim cuts off the room at the end of a run. Room that stays is there for the next run.
func (v *volume) trim() {
	if v.room > v.end && v.s.disk.truncate(v.h.File, v.end) == nil {
		v.room = 0
	}
}

// atEnd reports whether no frame starts at the end of what is known, in a file of some size that is larger. Within one
// boot of the system, zeros at the place of a frame's head have zeros behind them.
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

// isRoom reports whether a file of some size has nothing but room after the last whole frame. The lock must be held.
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
