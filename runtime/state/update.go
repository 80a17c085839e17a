package state

import (
	"strings"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// An update is written as a map from the wire names of the fields that it changes to arrays in which each operation, as the
// node called it, is followed by its operand. So reducers run when the update is merged, not when it is read.

// UpdateWriter writes an update, for generated code: NewUpdateWriter, AppendUpdate of every field, End.
type UpdateWriter struct {
	b      []byte
	at     int // where the map's head is
	fields int
	err    error
}

// NewUpdateWriter returns a writer that appends to b.
func NewUpdateWriter(b []byte) UpdateWriter {
	return UpdateWriter{b: append(b, 0x80), at: len(b)}
}

// End returns the extended slice, or the first error, which is a *MergeError or an *OverflowError.
func (w *UpdateWriter) End() ([]byte, error) {
	if w.err != nil {
		return w.b[:w.at], w.err
	}
	if w.fields < 16 {
		w.b[w.at] |= byte(w.fields)
		return w.b, nil
	}
	rest := string(w.b[w.at+1:])
	return append(wire.AppendMapLen(w.b[:w.at], w.fields), rest...), nil
}

// field starts a field with n operations. It reports false after an error.
func (w *UpdateWriter) field(f *Field, n int) bool {
	if w.err != nil {
		return false
	}
	w.fields++
	w.b = wire.AppendArrayLen(wire.AppendString(w.b, f.Wire), 2*n)
	return true
}

func (w *UpdateWriter) fail(f *Field, err error) {
	if err != nil {
		w.refuse(&MergeError{Field: f.Name, Err: err})
	}
}

// refuse makes err the writer's error, if that is the first.
func (w *UpdateWriter) refuse(err error) {
	if w.err == nil {
		w.err = err
	}
}

// writeScalar writes the update of a field that has one operation.
func writeScalar[T any](w *UpdateWriter, f *Field, o op, set bool, codec Codec[T], v *T) {
	if set && w.field(f, 1) {
		writeOp(w, f, o, codec, v)
	}
}

// writeOp writes an operation with one value for its operand.
func writeOp[T any](w *UpdateWriter, f *Field, o op, codec Codec[T], v *T) {
	b, err := codec.Append(wire.AppendInt(w.b, int64(o)), v)
	w.b = b
	w.fail(f, err)
}

// writeVals writes an operation with an array for its operand.
func writeVals[T any](w *UpdateWriter, f *Field, o op, codec Codec[T], vals []T) {
	b, err := appendVals(wire.AppendInt(w.b, int64(o)), codec, vals)
	w.b = b
	w.fail(f, err)
}

// appendVals appends an array.
func appendVals[T any](b []byte, codec Codec[T], vals []T) ([]byte, error) {
	b = wire.AppendArrayLen(b, len(vals))
	for i := range vals {
		var err error
		if b, err = codec.Append(b, &vals[i]); err != nil {
			return b, err
		}
	}
	return b, nil
}

// readVals reads an array.
func readVals[T any](r *wire.Reader, codec Codec[T]) []T {
	n := r.ArrayLen()
	vals := wire.MakeSlice[T](r, n)
	for range n {
		if !r.OK() {
			break
		}
		vals = append(vals, *new(T))
		codec.Read(r, &vals[len(vals)-1])
	}
	return vals
}

// readOps reads the operations of a field of an update; read gets each operation, reads its operand and reports whether the
// field has that operation.
func readOps(r *wire.Reader, read func(o op) bool) {
	at := r.Offset()
	n := r.ArrayLen()
	if n%2 != 0 {
		r.Damage(at, errOdd)
	}
	if !r.Framed() {
		return
	}
	for range n / 2 {
		at := r.Offset()
		o := r.Int()
		if !r.OK() {
			return
		}
		if o <= int(opNone) || o > int(opReduce) || !read(op(o)) {
			r.Fail(at, errUpdateOp)
		}
	}
}

// readScalar reads the update of a field that has the one operation want.
func readScalar[T any](r *wire.Reader, want op, codec Codec[T], v *T, set *bool) {
	readOps(r, func(o op) bool {
		if o != want {
			return false
		}
		*v = *new(T)
		codec.Read(r, v)
		*set = true
		return true
	})
}

// UpdateError returns the error of reading an update with r, which should be at its end, as a *DecodeError; nil when
// there is none. It is for generated code.
func UpdateError(r *wire.Reader) error {
	err := r.End()
	return decodeError(topField(err), err)
}

// equalVals compares element by element; nil and empty are the same.
func equalVals[T any](codec Codec[T], a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !codec.Equal(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// FieldChange is what becomes of one field: what an update does to it, or how it differs between two states.
type FieldChange struct {
	Field  string // in Go
	Change interface {
		IsZero() bool
		String() string
	}
}

// Changes returns those of all that change something, in their order; nil when there are none. It is for generated code, and
// takes all for itself.
func Changes(all ...FieldChange) []FieldChange {
	var changes []FieldChange
	for _, c := range all {
		if !c.Change.IsZero() {
			if changes == nil {
				changes = all[:0]
			}
			changes = append(changes, c)
		}
	}
	return changes
}

// FieldNames returns the Go names of the fields that change; nil when there are none.
func FieldNames(changes []FieldChange) []string {
	var names []string
	for _, c := range changes {
		names = append(names, c.Field)
	}
	return names
}

// FormatUpdate prints an update by what it changes, for the String methods of generated code:
// StateUpdate{Status: set answered, Tokens: add 42}.
func FormatUpdate(name string, changes ...FieldChange) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte('{')
	for i, c := range Changes(changes...) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Field + ": " + c.Change.String())
	}
	b.WriteByte('}')
	return b.String()
}
