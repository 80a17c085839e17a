// Package endless has generic types that hold themselves with ever longer type arguments. That graphgen is yet to declare
// StateUpdate keeps the type checker from saying so.
package endless

//graphgen:state
type State struct {
	P P[int]
	U *U `graph:"untracked"`
	M map[string]M[string, bool]
	L []L[int]     `graph:"append"`
	F func(F[int]) `graph:"untracked"`
	B Box[Box[Box[int]]]
	S Swap[int, bool]
	D D[int]
	K *K[string] `graph:"reduce=keep"`
}

// P holds a pointer to itself.
type P[T any] struct{ Next *P[[]T] } // want `P: type P\[T any\] holds itself with ever longer type arguments, which Go does not compile; let it hold itself with its own type parameters`

// U hides V.
type U struct{ V V[int] }

// V grows by a struct and a func.
type V[T any] []V[struct{ F func(T) }] // want `V: type V\[T any\] holds itself`

// M and N grow together, in two directions.
type M[A, B any] struct {
	Left, Right *N[A, map[string]B]
}

// N holds M twice.
type N[A, B any] struct { // want `N: type N\[A, B any\] holds itself`
	Left  *M[A, B]
	Right *M[[]A, B]
}

// L grows by itself.
type L[T any] struct{ Rest []L[L[T]] } // want `L: type L\[T any\] holds itself`

// F is not looked into, since only a func takes it.
type F[T any] struct{ Next *F[*T] }

// Box ends.
type Box[T any] struct{ V T }

// Swap comes back to itself.
type Swap[A, B any] struct {
	A    A
	Next *Swap[B, A]
}

// D doubles.
type D[T any] struct{ Next *D[struct{ A, B T }] } // want `D: type D\[T any\] holds itself`

// K is the type of what a reducer takes, too.
type K[T any] struct{ Next map[string]K[chan T] } // want `K: type K\[T any\] holds itself`

func keep(old *K[string], _ StateUpdate) *K[string] { return old }
