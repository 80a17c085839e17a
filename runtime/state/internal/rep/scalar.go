package rep

// Scalar is an operation set with Clear and one other operation, whose calls combine into one
// operand. The other operation applies after Clear, because Clear discards an earlier operand. The
// zero Scalar has no operations.
type Scalar[T any] struct {
	operand  T
	cleared  bool
	set      bool
	overflow bool
}

// NewScalar returns a Scalar with an operand.
func NewScalar[T any](v T) Scalar[T] { return Scalar[T]{operand: v, set: true} }

// IsZero reports whether s has no operations.
func (s *Scalar[T]) IsZero() bool { return !s.set && !s.cleared }

// Clear discards the operand and records that it was called.
func (s *Scalar[T]) Clear() { *s = Scalar[T]{cleared: true} }

// Cleared reports whether Clear was called.
func (s *Scalar[T]) Cleared() bool { return s.cleared }

// HasOperand reports whether s has an operand.
func (s *Scalar[T]) HasOperand() bool { return s.set }

// Set sets the operand.
func (s *Scalar[T]) Set(v T) { s.operand, s.set = v, true }

// Operand returns the operand. It is the zero T if s has none.
func (s *Scalar[T]) Operand() *T { return &s.operand }

// SetOverflow records that the operand does not fit in T.
func (s *Scalar[T]) SetOverflow() { s.overflow = true }

// Overflow reports whether SetOverflow was called.
func (s *Scalar[T]) Overflow() bool { return s.overflow }

// Inputs is an operation set with Clear and one other operation, with one operand for each call.
// It holds the first operand in itself, because there is rarely another.
type Inputs[In any] struct {
	first Scalar[In]
	more  []In
}

// Add adds the operand of one call.
func (s *Inputs[In]) Add(in In) {
	if !s.first.HasOperand() {
		s.first.Set(in)
		return
	}
	s.more = append(s.more, in)
}

// IsZero reports whether s has no operations.
func (s *Inputs[In]) IsZero() bool { return s.first.IsZero() }

// Clear discards the operands and records that it was called.
func (s *Inputs[In]) Clear() {
	s.first.Clear()
	s.more = nil
}

// Cleared reports whether Clear was called.
func (s *Inputs[In]) Cleared() bool { return s.first.Cleared() }

// Len returns the number of operands.
func (s *Inputs[In]) Len() int {
	if !s.first.HasOperand() {
		return 0
	}
	return 1 + len(s.more)
}

// At returns operand i.
func (s *Inputs[In]) At(i int) *In {
	if i == 0 {
		return s.first.Operand()
	}
	return &s.more[i-1]
}
