// Package wire reads and writes MessagePack for generated code.
//
// Values are written by append functions and read by a [Reader]. Both are made for code that knows the
// types: there is no reflection and no value of type any. What is written is standard MessagePack
// (https://github.com/msgpack/msgpack/blob/master/spec.md), always in the shortest form, so any library
// can read it; every form that other libraries write is read.
//
// Reading is safe on any bytes: it never panics, lengths are checked against the bytes that are left
// before anything is allocated, and the first error sticks and says where it is.
package wire

// Generation2 is named by generated code. Its number grows with every change of the runtime that generated code must follow,
// and only the newest one exists. If the compiler says that it is not defined, the code was generated for another version of this
// module than the one in go.mod: run go generate, or update the module.
const Generation2 = true

// MaxDepth is how deeply values of recursive types may nest. Encoding and decoding deeper ones is an
// error, never a stack overflow.
const MaxDepth = 1000

// Generated is the constraint on payloads: what a send carries, a question asks and an answer says.
// A type of your own gets the two methods by graphgen -type=T; [String], [Bool] and [Int] have them.
// The compiler reports a type that has no codec as "does not satisfy wire.Generated[T] (missing method AppendWire)": add the type
// to -type in the go:generate line of its package, and run go generate.
//
// AppendWire appends the value to b and returns the extended slice. DecodeWire sets the value to what b
// holds, which must be exactly one value, and keeps no reference to b.
type Generated[T any] interface {
	*T
	AppendWire(b []byte) ([]byte, error)
	DecodeWire(b []byte) error
}

// String is a payload that is just a string.
type String string

// AppendWire appends v to b. It does not fail.
func (v *String) AppendWire(b []byte) ([]byte, error) { return AppendString(b, string(*v)), nil }

// DecodeWire sets v to the string that b holds.
func (v *String) DecodeWire(b []byte) error {
	r := NewReader("String", b)
	*v = String(r.Str())
	return r.End()
}

// Bool is a payload that is just yes or no.
type Bool bool

// AppendWire appends v to b. It does not fail.
func (v *Bool) AppendWire(b []byte) ([]byte, error) { return AppendBool(b, bool(*v)), nil }

// DecodeWire sets v to the bool that b holds.
func (v *Bool) DecodeWire(b []byte) error {
	r := NewReader("Bool", b)
	*v = Bool(r.Bool())
	return r.End()
}

// Int is a payload that is just a number.
type Int int64

// AppendWire appends v to b. It does not fail.
func (v *Int) AppendWire(b []byte) ([]byte, error) { return AppendInt(b, int64(*v)), nil }

// DecodeWire sets v to the integer that b holds.
func (v *Int) DecodeWire(b []byte) error {
	r := NewReader("Int", b)
	*v = Int(r.Int64())
	return r.End()
}
