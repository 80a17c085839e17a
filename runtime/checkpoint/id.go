package checkpoint

import (
	"fmt"

	"github.com/google/uuid"
)

// ID names one record, over all threads, versions and savers. It is a UUIDv7 (RFC 9562), so ids made
// later usually sort later, but nothing relies on that: the order of records is Record.Seq.
//
// The zero ID means none: no parent, no head, the newest checkpoint.
type ID [16]byte

// NewID returns a new id. It fails only when the operating system has no randomness to give.
func NewID() (ID, error) {
	u, err := uuid.NewV7()
	if err != nil {
		return ID{}, fmt.Errorf("checkpoint: new id: %w", err)
	}
	return ID(u), nil
}

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
