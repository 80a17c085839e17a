// Package asjson stores values of types that only encoding/json can write and read, such as types
// of other modules with fields of type any.
//
//	type State struct {
//		Schema asjson.Value[sdk.Schema]
//		Tools  []asjson.Value[sdk.Tool] `graph:"append"`
//	}
//
//	u.Schema.Set(asjson.Of(schema))
//	name := s.Schema.V.Name
//
// encoding/json uses reflection, so such a value costs more than one with generated code. Use this
// package only for types that graphgen refuses.
package asjson

import (
	"bytes"
	"encoding/json"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Value is a value of type T, which encoding/json writes and reads. It keeps what encoding/json
// keeps. Unexported fields and fields with the tag "-" are lost. A number in a field of type any
// is a float64. A merge into a state makes V the value that encoding/json reads, and fails if
// that is written as other JSON. A Value is stored as a string.
//
// The methods are safe for concurrent use while nothing writes to V.
type Value[T any] struct{ V T }

// Of returns a Value of v, with which it shares memory.
func Of[T any](v T) Value[T] { return Value[T]{v} }

// AppendWire appends the JSON of v to b. It returns the error of encoding/json.
func (v *Value[T]) AppendWire(b []byte) ([]byte, error) {
	return wire.AppendJSON(b, func() ([]byte, error) { return json.Marshal(v.V) })
}

// DecodeWire decodes b into v, and keeps no reference to b. If it returns an error, v is
// unchanged.
func (v *Value[T]) DecodeWire(b []byte) error {
	var decoded Value[T]
	r := wire.NewReader("Value", b)
	r.JSON(func(text []byte) error { return json.Unmarshal(text, &decoded.V) })
	if err := r.End(); err != nil {
		return err
	}
	*v = decoded
	return nil
}

// Equal reports whether v and w have the same JSON. A Value that has none equals no other.
func (v Value[T]) Equal(w Value[T]) bool {
	a, err := json.Marshal(v.V)
	if err != nil {
		return false
	}
	b, err := json.Marshal(w.V)
	return err == nil && bytes.Equal(a, b)
}

// MarshalJSON returns the JSON of V.
func (v Value[T]) MarshalJSON() ([]byte, error) { return json.Marshal(v.V) }

// UnmarshalJSON reads V.
func (v *Value[T]) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &v.V) }
