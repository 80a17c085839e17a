package checkpoint

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ID is the unique id of a record, across all threads, versions and savers. It is a UUIDv7 (RFC
// 9562). Later ids usually sort later, but the order of records is that of Record.Seq.
//
// The zero ID means none: no parent, no head, or the newest checkpoint.
type ID [16]byte

// NewID returns a new id. It returns an error only if the operating system provides no randomness.
func NewID() (ID, error) {
	e := spare.Get().(*entropy)
	defer spare.Put(e)
	if e.left < 8 {
		if _, err := rand.Read(e.bytes[:]); err != nil {
			return ID{}, fmt.Errorf("checkpoint: new id: %w", err)
		}
		e.left = len(e.bytes)
	}
	e.left -= 8
	var id ID
	now := time.Now()
	quarters := uint64(now.Nanosecond() % 1e6 / 250) // of a microsecond, since the millisecond began: under 4,000
	binary.BigEndian.PutUint64(id[:], uint64(now.UnixMilli())<<16|7<<12|quarters)
	copy(id[8:], e.bytes[e.left:])
	id[8] = 0x80 | id[8]&0x3f
	return id, nil
}

// Time returns when NewID made id, in UTC and to the microsecond.
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
