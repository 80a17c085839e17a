// Package wire reads and writes MessagePack for generated code.
//
// Append functions write values and a [Reader] reads them. Both are for code that knows the types:
// they use no reflection and no values of type any. The output is standard MessagePack in its
// shortest form, which any library can read. The Reader accepts every form that other libraries
// write. The specification is at https://github.com/msgpack/msgpack/blob/master/spec.md.
//
// Reading is safe for any input. It never panics, and it checks lengths against the bytes that are
// left before it allocates. The first error is final and names its place.
package wire

// Generation3 is the version of the runtime that generated code uses. The number grows with every
// change of the runtime that generated code must follow, and only the newest version exists. If
// the compiler reports it as undefined, the code was generated for another version of this module.
// Run go generate, or update the module.
const Generation3 = true

// MaxDepth is the maximum depth to which values of recursive types may nest. Encoding or decoding
// deeper values returns an error and never overflows the stack.
const MaxDepth = 1000

// Generated is the constraint on payloads: the values of sends, questions and answers. To give a
// type of your own the two methods, write //graphgen:payload above it, and run go generate.
// [String], [Bool] and [Int] have them. For a type without a codec the compiler reports "does not
// satisfy wire.Generated[T] (missing method AppendWire)".
//
// AppendWire appends the value to b and returns the extended slice. DecodeWire sets the value from
// b, which must hold exactly one value, and keeps no reference to b.
type Generated[T any] interface {
	*T
	AppendWire(b []byte) ([]byte, error)
	DecodeWire(b []byte) error
}

// String is a payload with one string.
type String string

// AppendWire appends v to b. It always succeeds.
func (v *String) AppendWire(b []byte) ([]byte, error) { return AppendString(b, string(*v)), nil }

// DecodeWire sets v to the string in b.
func (v *String) DecodeWire(b []byte) error {
	r := NewReader("String", b)
	*v = String(r.Str())
	return r.End()
}

// Bool is a payload with one boolean.
type Bool bool

// AppendWire appends v to b. It always succeeds.
func (v *Bool) AppendWire(b []byte) ([]byte, error) { return AppendBool(b, bool(*v)), nil }

// DecodeWire sets v to the bool in b.
func (v *Bool) DecodeWire(b []byte) error {
	r := NewReader("Bool", b)
	*v = Bool(r.Bool())
	return r.End()
}

// Int is a payload with one integer.
type Int int64

// AppendWire appends v to b. It always succeeds.
func (v *Int) AppendWire(b []byte) ([]byte, error) { return AppendInt(b, int64(*v)), nil }

// DecodeWire sets v to the integer in b.
func (v *Int) DecodeWire(b []byte) error {
	r := NewReader("Int", b)
	*v = Int(r.Int64())
	return r.End()
}
