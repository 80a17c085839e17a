package shape

import (
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Format is the number of the encoding that this package writes and reads.
const Format = 3

// MaxDecode is the greatest number of bytes that DecodeWire accepts, far more than real types
// need.
const MaxDecode = 1 << 20

// FormatError reports a description in a format that this package does not read.
type FormatError struct{ Found, Want int }

func (e *FormatError) Error() string {
	return fmt.Sprintf("shape: the description has format %d, and this program reads format %d; use the version of graphgen that wrote it", e.Found, e.Want)
}

// The causes of a *wire.Error.
var (
	errOrder = errors.New("types are not in the order of their names")
	errKind  = errors.New("no kind of a type")
)

// errSize is the error of a description that is too long.
var errSize = fmt.Errorf("shape: a description has more than %d bytes", MaxDecode)

// AppendWire appends the description to b as MessagePack. It does not fail.
func (s *State) AppendWire(b []byte) ([]byte, error) {
	b = wire.AppendInt(wire.AppendArrayLen(b, 4), Format)
	b = wire.AppendString(b, s.Name)
	b = appendFields(b, s.Fields)
	return appendTypes(b, s.Types), nil
}

// DecodeWire replaces the description by the one in b. It keeps no reference to b. It returns a
// *FormatError if the format differs, and a *wire.Error if b is not a description. After an error
// the description is unchanged.
func (s *State) DecodeWire(b []byte) error {
	return decode(s, "State", b, (*State).ReadWire)
}

// ReadWire reads a description that is part of other data. It returns a *FormatError if the format
// differs. Any other fault is an error of r.
func (s *State) ReadWire(r *wire.Reader) error {
	if err := readFormat(r, 4); err != nil {
		return err
	}
	*s = State{Name: r.Str(), Fields: readFields(r), Types: readTypes(r)}
	return nil
}

// AppendWire appends the description to b as MessagePack. It does not fail.
func (p *Payload) AppendWire(b []byte) ([]byte, error) {
	b = wire.AppendInt(wire.AppendArrayLen(b, 3), Format)
	return appendTypes(wire.AppendString(b, p.Type), p.Types), nil
}

// DecodeWire replaces the description by the one in b, as [State.DecodeWire] does.
func (p *Payload) DecodeWire(b []byte) error {
	return decode(p, "Payload", b, (*Payload).ReadWire)
}

// ReadWire reads a description that is part of other data, as [State.ReadWire] does.
func (p *Payload) ReadWire(r *wire.Reader) error {
	if err := readFormat(r, 3); err != nil {
		return err
	}
	*p = Payload{Type: r.Str(), Types: readTypes(r)}
	return nil
}

func decode[T any](v *T, name string, b []byte, read func(v *T, r *wire.Reader) error) error {
	if len(b) > MaxDecode {
		return errSize
	}
	r := wire.NewReader(name, b)
	var out T
	if err := read(&out, &r); err != nil {
		return err
	}
	if err := r.End(); err != nil {
		return fmt.Errorf("shape: %w", err)
	}
	*v = out
	return nil
}

// readFormat reads the head of a description of n elements and checks its format.
func readFormat(r *wire.Reader, n int) error {
	at := r.Offset()
	got := r.ArrayLen()
	if format := r.Int(); r.OK() && format != Format {
		return &FormatError{Found: format, Want: Format}
	}
	if r.OK() && got != n {
		r.Fail(at, fmt.Errorf("%d elements, want %d", got, n))
	}
	return nil
}

func appendFields(b []byte, fields []Field) []byte {
	b = wire.AppendArrayLen(b, len(fields))
	for _, f := range fields {
		b = wire.AppendString(wire.AppendString(wire.AppendArrayLen(b, 8), f.Name), f.Wire)
		b = wire.AppendArrayLen(b, len(f.Was))
		for _, was := range f.Was {
			b = wire.AppendString(b, was)
		}
		for _, s := range []string{f.Reducer, f.Type, f.Key, f.Input} {
			b = wire.AppendString(b, s)
		}
		b = wire.AppendBool(b, f.Run)
	}
	return b
}

func appendTypes(b []byte, types Types) []byte {
	b = wire.AppendArrayLen(b, len(types))
	for _, t := range types {
		b = wire.AppendString(wire.AppendArrayLen(b, 5), t.Name)
		b = wire.AppendString(wire.AppendString(b, string(t.Kind)), t.Of)
		b = wire.AppendArrayLen(appendFields(b, t.Fields), len(t.Members))
		for _, m := range t.Members {
			b = wire.AppendString(wire.AppendString(wire.AppendArrayLen(b, 2), m.Tag), m.Type)
		}
	}
	return b
}

func readFields(r *wire.Reader) []Field {
	return list(r, func(f *Field) {
		r.FixedArray(8)
		f.Name, f.Wire = r.Str(), r.Str()
		f.Was = list(r, func(was *string) { *was = r.Str() })
		f.Reducer, f.Type, f.Key, f.Input, f.Run = r.Str(), r.Str(), r.Str(), r.Str(), r.Bool()
	})
}

func readTypes(r *wire.Reader) Types {
	var last string
	return list(r, func(t *Type) {
		at := r.Offset()
		r.FixedArray(5)
		t.Name, t.Kind, t.Of = r.Str(), Kind(r.Str()), r.Str()
		t.Fields = readFields(r)
		t.Members = list(r, func(m *Member) {
			r.FixedArray(2)
			m.Tag, m.Type = r.Str(), r.Str()
		})
		switch {
		case !r.OK():
		case t.Name <= last:
			r.Fail(at, errOrder)
		case !t.Kind.known():
			r.Fail(at, errKind)
		}
		last = t.Name
	})
}

func (k Kind) known() bool {
	switch k {
	case Defined, Struct, Union, Wire, Binary, Text, JSON:
		return true
	}
	return false
}

// list reads an array. It returns nil for an empty one.
func list[T any](r *wire.Reader, read func(v *T)) []T {
	n := r.ArrayLen()
	if n == 0 || !r.OK() {
		return nil
	}
	all := wire.MakeSlice[T](r, n)
	for len(all) < n && r.OK() {
		all = append(all, *new(T))
		read(&all[len(all)-1])
	}
	return all
}
