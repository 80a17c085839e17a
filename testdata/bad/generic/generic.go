// Package generic names a generic type as its state.
package generic

//graphgen:state
type State[T any] struct{ A T } // want `State: has type parameters; declare the type that the graph uses, as in type StateOfInt State\[int\]`
