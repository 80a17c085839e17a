package state

// Part connects a state S with an embedded struct P that is a state of its own. The updates of S
// are U, and those of P are V. graphgen generates one for each such struct. The
// variable has the names of the state and of the struct (StateChat). graph.Part takes it.
//
// Its functions must be pure and safe for concurrent use.
type Part[S, U, P, V any] struct {
	Schema *Schema[P, V] // of the struct

	Of     func(s S) P // the struct in a state, which shares memory with the state
	Widen  func(v V) U // an update of the struct, as an update of the state
	Narrow func(u U) V // an update of the state, without its operations on other fields than those of the struct
}
