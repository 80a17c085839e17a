package cell

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Settler is a [Codec] of values that can differ from their decoded form. A time has a zone, a
// union can hold a nil pointer, and methods of a type can lose a part of its values. Merge
// makes every value its decoded form, so that a run sees the same state before and after a resume.
type Settler[T any] interface {
	// Settle makes *v its decoded form, and reports whether it changed *v. It writes only to *v:
	// it copies what *v refers to before a change. A value that cannot be stored is an error of s.
	Settle(s *Settling, v *T) bool
}

// Settling is the context of calls of Settle. The zero Settling is ready to use. It must not be
// used concurrently.
type Settling struct {
	codecs bool // check the values that methods of their types store
	depth  int
	err    error
	buf    []byte // to encode in
}

// Time is Settle for times: a decoded time is in UTC and has no monotonic clock reading.
func (s *Settling) Time(v *time.Time) bool {
	decoded := v.Round(0).UTC()
	if *v == decoded { //nolint:staticcheck // Equal ignores the zone
		return false
	}
	*v = decoded
	return true
}

// NilMember fails, because a union called name holds a nil pointer to the type member.
func (s *Settling) NilMember(name, member string) { s.fail(wire.NilMember(name, member)) }

// Enter must be called before a value of a recursive type is settled, and Leave after it. Enter
// reports whether the value may be settled: it fails if the value is nested too deeply.
func (s *Settling) Enter() bool {
	if err := wire.AppendDepth(s.depth); err != nil {
		s.fail(err)
		return false
	}
	s.depth++
	return true
}

// Leave ends the level that Enter began.
func (s *Settling) Leave() { s.depth-- }

func (s *Settling) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// SettleOwn is Settle for a type that its own methods store: it encodes and decodes *v. It fails
// with a [*wire.LossyError] if the result does not equal *v. methods names them for the error.
func SettleOwn[T any](s *Settling, codec Codec[T], v *T, methods string) bool {
	if !s.codecs || s.err != nil {
		return false
	}
	b, err := codec.Append(s.buf[:0], v)
	s.buf = b
	if err != nil {
		s.fail(err)
		return false
	}
	r := wire.NewReader("", b)
	decoded := new(T)
	codec.Read(&r, decoded)
	if err := r.End(); err != nil || !codec.Equal(v, decoded) {
		s.fail(&wire.LossyError{Methods: methods, Err: err})
		return false
	}
	*v = *decoded
	return true
}

// Settle makes *v its decoded form.
func (Time) Settle(s *Settling, v *time.Time) bool { return s.Time(v) }

// settle makes *v, which becomes a part of the field, its decoded form. settler is nil for a type
// whose values are their decoded form.
func settle[T any](h *head, settler Settler[T], v *T) {
	if settler == nil {
		return
	}
	s := &h.core.settling
	s.codecs, s.depth, s.err = h.core.opts.Record || h.core.opts.Check, 0, nil
	settler.Settle(s, v)
	if s.err != nil {
		h.failed(s.err)
	}
}
