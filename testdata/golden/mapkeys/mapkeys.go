// Package mapkeys has maps with keys of all types that are not strings, integers or bools.
package mapkeys

import (
	"encoding/hex"
	"errors"
	"net/netip"
)

//go:generate go tool graphgen -type=State

// State has such maps.
type State struct {
	Addrs map[netip.Addr]int32 `graph:"merge"`
	IDs   map[ID]Item          `graph:"merge"`
	ByID  []Item               `graph:"upsert,key=ID"`
	Deep  map[string]map[netip.Addr]map[ID]bool
	Lossy map[Lossy]int `graph:"merge"`
}

// Item has a key.
type Item struct {
	ID   ID
	Text string
}

// ID has a text form, as a UUID does.
type ID [3]byte

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(id[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(id)) {
		return errors.New("want 6 hexadecimal digits")
	}
	_, err := hex.Decode(id[:], b)
	return err
}

// Lossy has a text form that leaves out a field.
type Lossy struct {
	Kept, Lost byte
}

// MarshalText implements encoding.TextMarshaler.
func (l Lossy) MarshalText() ([]byte, error) { return []byte{'a' + l.Kept%26}, nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Lossy) UnmarshalText(b []byte) error {
	if len(b) != 1 {
		return errors.New("want a letter")
	}
	l.Kept = b[0] - 'a'
	return nil
}
