// Package alias names an alias as its state.
package alias

type real struct{ A int }

//graphgen:state
type State = real // want `State: is an alias of real, which graphgen cannot add to; name the type itself, or declare type State real`
