package rep

// Scalar is an operation set with one operation, whose calls combine into one operand. The zero Scalar has none.
type Scalar[T any] struct {
	operand  T
	set      bool
	overflow bool
}

// NewScalar returns a Scalar with an operand.
func NewScalar[T any](v T) Scalar[T] { return Scalar[T]{operand: v, set: true} }

// IsZero reports whether there is no operand.
func (s *Scalar[T]) IsZero() bool { return !s.set }

// Set sets the operand.
func (s *Scalar[T]) Set(v T) { s.operand, s.set = v, true }

// Operand returns the operand; the zero T when there is none.
func (s *Scalar[T]) Operand() *T { return &s.operand }

// SetOverflow notes that what the operand should be does not fit in T.
func (s *Scalar[T]) SetOverflow() { s.overflow = true }

// Overflow reports whether SetOverflow was called.
func (s *Scalar[T]) Overflow() bool { return s.overflow }

// Inputs is an operation set whose calls have an operand each. It holds the first in itself, since there is rarely another.
type Inputs[In any] struct {
	first Scalar[In]
	more  []In
}

// Add adds the operand of one call.
func (s *Inputs[In]) Add(in In) {
	if s.first.IsZero() {
		s.first.Set(in)
		return
	}
	s.more = append(s.more, in)
}

// Len returns the number of calls.
func (s *Inputs[In]) Len() int {
	if s.first.IsZero() {
		return 0
	}
	return 1 + len(s.more)
}

// At returns the operand of call i.
func (s *Inputs[In]) At(i int) *In {
	if i == 0 {
		return s.first.Operand()
	}
	return &s.more[i-1]
}
