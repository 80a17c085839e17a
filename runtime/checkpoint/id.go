package checkpoint

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// ID is the unique id of a record, across all threads, versions and savers. It is a UUIDv7 (RFC
// 9562). The ids of the records of one log strictly increase, bytewise.
//
// The zero ID means none: no parent, no head, or the newest checkpoint.
type ID [16]byte

// NewID returns a new id. It is greater than all that NewID returned before in this process,
// unless the clock was set back by more than a second. NewID returns an error only if the
// operating system provides no randomness.
func NewID() (ID, error) {
	now := time.Now()
	moment := uint64(now.UnixMilli())<<12 | uint64(now.Nanosecond()%1e6/250)
	for {
		next, before := moment, newest.Load()
		if before >= next && before-next < 1000<<12 {
			next = before + 1
		}
		if newest.CompareAndSwap(before, next) {
			return newID(next)
		}
	}
}

// newest is the moment of the newest id of this process. It is shared because ids have to increase
// whichever goroutines make them.
var newest atomic.Uint64

// NewIDAfter returns a new id as NewID does. It is greater than before, even if the clock of this
// machine is behind that of the machine that made before. It returns an *InvalidError if before
// has no time from NewID, so that no id is greater.
func NewIDAfter(before ID) (ID, error) {
	id, err := NewID()
	if err != nil || bytes.Compare(id[:], before[:]) > 0 {
		return id, err
	}
	millisecond := binary.BigEndian.Uint64(before[:])>>16 + 1
	if millisecond>>48 > 0 {
		return ID{}, &InvalidError{"before", before.String(), "an id from NewID"}
	}
	return newID(millisecond << 12)
}

// newID returns an id of a moment: milliseconds since 1970, and in the last 12 bits quarters of a
// microsecond.
func newID(moment uint64) (id ID, err error) {
	e := spare.Get().(*entropy)
	defer spare.Put(e)
	if e.left < 8 {
		if _, err := rand.Read(e.bytes[:]); err != nil {
			return ID{}, fmt.Errorf("checkpoint: new id: %w", err)
		}
		e.left = len(e.bytes)
	}
	e.left -= 8
	binary.BigEndian.PutUint64(id[:], moment>>12<<16|7<<12|moment&0xfff)
	copy(id[8:], e.bytes[e.left:])
	id[8] = 0x80 | id[8]&0x3f
	return id, nil
}

// Time returns when NewID made id, in UTC and to the microsecond. The times of ids that are made
// at the same instant are a quarter of a microsecond apart.
func (id ID) Time() time.Time {
	bits := binary.BigEndian.Uint64(id[:])
	return time.UnixMicro(int64(bits>>16*1000 + bits&0xfff/4)).UTC()
}

// entropy is random bytes. Those before left are in no id.
type entropy struct {
	left  int
	bytes [512]byte
}

// spare holds random bytes for later ids: a call of the system for each id takes longer than the
// rest of NewID.
var spare = sync.Pool{New: func() any { return new(entropy) }}

// ParseID reads the form that String writes. Anything else is an error that quotes what was found.
func ParseID(s string) (ID, error) {
	u, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return ID{}, fmt.Errorf("checkpoint: %q is not a checkpoint id; want the form 0198c0de-0000-7000-8000-000000000000", s)
	}
	return ID(u), nil
}

// String returns the canonical 36-character form, or "none" for the zero ID.
func (id ID) String() string {
	if id.IsZero() {
		return "none"
	}
	return uuid.UUID(id).String()
}

// IsZero reports whether id is the zero ID, which means none.
func (id ID) IsZero() bool { return id == ID{} }
