package state

// Part connects a state S with an embedded struct P that is a state of its own. The updates of S
// are U, and those of P are V. graphgen generates one for each such struct. The
// variable has the names of the state and of the struct (StateChat). graph.Part takes it.
//
// Its functions must be pure and safe for concurrent use.
type Part[S, U, P, V any] struct {
	Schema *Schema[P, V] // of the struct

	Of     func(s S) P // the struct in a state, which shares memory with the state
	Widen  func(v V) U // the update of the state that has the operations of an update of the struct
	Narrow func(u U) V // the operations of an update of the state on fields of the struct
}
