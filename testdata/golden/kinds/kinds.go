// Package kinds has a field of every kind that can be stored.
package kinds

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/graphgen-go/graphgen/testdata/golden/kinds/other"
)

//go:generate go tool graphgen -type=State,Doc

// State has all kinds as fields that are replaced.
type State Doc

// Doc has all kinds.
type Doc struct {
	Bool       bool
	Int        int
	Int8       int8
	Int16      int16
	Int32      int32
	Int64      int64
	Uint       uint
	Uint8      uint8
	Uint16     uint16
	Uint32     uint32
	Uint64     uint64
	Float32    float32
	Float64    float64
	Complex64  complex64
	Complex128 complex128
	String     string
	Rune       rune
	Byte       byte

	Flag  Flag
	Level Level
	Ratio Ratio
	Role  Role

	Bytes    []byte
	Blob     Blob
	Raw      json.RawMessage
	Hash     [4]byte
	ID       uuid.UUID
	Time     time.Time
	Duration time.Duration
	Month    time.Month

	Strings  []string
	Roles    Roles
	Matrix   [][]float64
	Names    []Name
	Grid     [2][3]int8
	Points   [2]other.Point
	Times    []time.Time
	Blobs    [][]byte
	Pointers []*Name

	Counts   map[string]int
	ByLevel  map[Level]string
	ByFlag   map[bool]int
	ByRole   map[Role]Name
	Deep     map[string]map[int32][]*Name
	Times2   map[string]time.Time
	Set      map[uint16]struct{}
	HashByID map[string][4]byte

	Ptr      *int
	PtrName  *Name
	PtrArray *[2]int
	PtrTime  *time.Time

	Nested    Name
	Anonymous struct {
		A int
		B []string
	}
	Name
	*Embedded

	Celsius other.Celsius
	Point   other.Point
	Packed  other.Packed
	Packeds []other.Packed
	ByPack  map[string]other.Packed
	Big     big.Int
	BigPtr  *big.Int
	Addr    netip.Addr
	URL     *url.URL
	Text    Text

	hidden int
	Wired  string `graph:"name=wire name,was=Old"`
	Empty  struct{}
	Nope   []struct{}
}

// Flag, Level, Ratio, Role, Blob and Roles are declared types.
type (
	Flag  bool
	Level int16
	Ratio float64
	Role  string
	Blob  []byte
	Roles []Role
)

// Name is a nested struct.
type Name struct {
	First, Last string
	Nicks       []string
	OnChange    func() `graph:"-"` // not stored
}

// Embedded is embedded by pointer.
type Embedded struct{ Note string }

// Text is stored by its methods, since it holds what cannot be stored.
type Text struct {
	value string
	Done  func()
}

// MarshalText implements encoding.TextMarshaler.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.value), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Text) UnmarshalText(b []byte) error { t.value = string(b); return nil }
