// Package endless2 has an endless generic type and no other fault, so that the type checker finds it, too.
package endless2

//graphgen:state
type State struct{ A T[int] }

// T holds itself.
type T[P any] struct{ X *T[[]P] } // want `T: type T\[P any\] holds itself` `: instantiation cycle` `: P instantiated as`
