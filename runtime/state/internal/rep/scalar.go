package rep

// Scalar is an operation set with one operation, whose calls combine into one operand. The zero
// Scalar has no operand.
type Scalar[T any] struct {
	operand  T
	set      bool
	overflow bool
}

// NewScalar returns a Scalar with an operand.
func NewScalar[T any](v T) Scalar[T] { return Scalar[T]{operand: v, set: true} }

// IsZero reports whether s has no operand.
func (s *Scalar[T]) IsZero() bool { return !s.set }

// Set sets the operand.
func (s *Scalar[T]) Set(v T) { s.operand, s.set = v, true }

// Operand returns the operand. It is the zero T if s has none.
func (s *Scalar[T]) Operand() *T { return &s.operand }

// SetOverflow records that the operand does not fit in T.
func (s *Scalar[T]) SetOverflow() { s.overflow = true }

// Overflow reports whether SetOverflow was called.
func (s *Scalar[T]) Overflow() bool { return s.overflow }

// Inputs is an operation set with one operand for each call. It holds the first operand in itself,
// because there is rarely another.
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
