package cell

import (
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// An update is written as a map from the wire names of the changed fields to arrays. An array has
// the operations in the order of the calls, each followed by its operand. So reducers run when the
// update is merged, not when it is read.

// UpdateWriter writes an update, for generated code: NewUpdateWriter, AppendUpdate of every field,
// End.
type UpdateWriter struct {
	b      []byte
	at     int // where the map's head is
	fields int
	err    error

	settling Settling
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

// field starts a field with n operations. It reports whether the caller must write
// them: there are some, and nothing failed.
func (w *UpdateWriter) field(f *shape.Field, n int) bool {
	if n == 0 || w.err != nil {
		return false
	}
	w.fields++
	w.b = wire.AppendArrayLen(wire.AppendString(w.b, f.Wire), 2*n)
	return true
}

func (w *UpdateWriter) fail(f *shape.Field, err error) {
	if err != nil {
		w.refuse(&state.MergeError{Field: f.Name, Err: err})
	}
}

// refuse makes err the writer's error, if that is the first.
func (w *UpdateWriter) refuse(err error) {
	if w.err == nil {
		w.err = err
	}
}

// writeScalar writes the update of a field that has the operation op and Clear.
func writeScalar[T any](w *UpdateWriter, f *shape.Field, op rep.Op, codec Codec[T], u *rep.Scalar[T]) {
	operands := 0
	if u.HasOperand() {
		operands = 1
	}
	if writeClear(w, f, u.Cleared(), operands) {
		writeOp(w, f, op, codec, u.Operand())
	}
}

// writeClear starts a field with n operations, after a Clear if first is true. It reports whether
// the caller must write the operations.
func writeClear(w *UpdateWriter, f *shape.Field, first bool, n int) bool {
	if !first {
		return w.field(f, n)
	}
	if !w.field(f, n+1) {
		return false
	}
	w.b = wire.AppendNil(wire.AppendInt(w.b, int64(rep.Clear)))
	return n > 0
}

// writeRuns writes the update of a field that has several operations; write writes one of them.
func writeRuns[Arg any](w *UpdateWriter, f *shape.Field, u *rep.Runs[Arg], write func(run *rep.Run[Arg])) {
	if w.field(f, u.Len()) {
		for i := range u.Len() {
			write(u.At(i))
		}
	}
}

// writeOp writes an operation with one value for its operand.
func writeOp[T any](w *UpdateWriter, f *shape.Field, o rep.Op, codec Codec[T], v *T) {
	b, err := codec.Append(wire.AppendInt(w.b, int64(o)), settledOperand(w, f, codec, v))
	w.b = b
	w.fail(f, err)
}

// writeArray writes an operation with an array for its operand.
func writeArray[T any](w *UpdateWriter, f *shape.Field, o rep.Op, codec Codec[T], vals []T) {
	w.b = wire.AppendArrayLen(wire.AppendInt(w.b, int64(o)), len(vals))
	for i := range vals {
		b, err := codec.Append(w.b, settledOperand(w, f, codec, &vals[i]))
		w.b = b
		w.fail(f, err)
	}
}

// settledOperand returns the decoded form of an operand. It refuses a value that its methods do
// not give back. Merge alone cannot do that, because it gets the stored operand after a resume.
func settledOperand[T any](w *UpdateWriter, f *shape.Field, codec Codec[T], v *T) *T {
	settler, ok := codec.(Settler[T])
	if !ok {
		return v
	}
	decoded := *v
	w.settling = Settling{codecs: true, buf: w.settling.buf}
	settler.Settle(&w.settling, &decoded)
	w.fail(f, w.settling.err)
	return &decoded
}

// writeVals writes the update of a field whose operations all have elements for their operands.
func writeVals[T any](w *UpdateWriter, f *shape.Field, elem Codec[T], u *rep.Runs[[]T]) {
	writeRuns(w, f, u, func(run *rep.Run[[]T]) { writeArray(w, f, run.Op, elem, run.Arg) })
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

// readOps reads the operations of a field of an update; read gets each operation, reads its
// operand and reports whether the field has that operation.
func readOps(r *wire.Reader, read func(o rep.Op) bool) {
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
		op := rep.Op(r.Int())
		if !r.OK() {
			return
		}
		if !op.Known() || !read(op) {
			r.Fail(at, errUpdateOp)
		}
	}
}

// readElems reads the update of a field that writeVals wrote. add is the operation that adds
// elements.
func readElems[T any](r *wire.Reader, add rep.Op, elem Codec[T], u *rep.Runs[[]T]) {
	readOps(r, func(o rep.Op) bool {
		switch o {
		case add, rep.Remove:
			if vals := readVals(r, elem); len(vals) > 0 {
				operand := u.Call(o)
				*operand = append(*operand, vals...)
			}
		case rep.Replace:
			*u.Restart(o) = append([]T{}, readVals(r, elem)...)
		case rep.Clear:
			r.Skip()
			u.Restart(o)
		default:
			return false
		}
		return true
	})
}

// readScalar reads the update of a field that has the operation want and Clear.
func readScalar[T any](r *wire.Reader, want rep.Op, codec Codec[T], u *rep.Scalar[T]) {
	readOps(r, func(o rep.Op) bool {
		switch o {
		case rep.Clear:
			r.Skip()
			u.Clear()
		case want:
			u.Set(*new(T))
			codec.Read(r, u.Operand())
		default:
			return false
		}
		return true
	})
}

// UpdateError returns the error of reading an update with r as a *DecodeError, or nil. It is an
// error if r is not at its end.
func UpdateError(r *wire.Reader) error {
	err := r.End()
	return decodeError(topField(err), err)
}

// SameUpdate reports whether two updates are written as the same bytes. An update that cannot be
// written equals no other.
func SameUpdate[U any](appendTo func(b []byte, u *U) ([]byte, error), u, v *U) bool {
	a, err := appendTo(nil, u)
	if err != nil {
		return false
	}
	b, err := appendTo(nil, v)
	return err == nil && string(a) == string(b)
}
