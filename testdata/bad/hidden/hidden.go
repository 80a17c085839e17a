// Package hidden takes names of Go's for itself.
package hidden

//graphgen:state
type State struct{ A int }

func append() {} // want `append: hides the predeclared identifier of this name, which generated code uses; rename the declaration`

type error struct{} // want `error: hides the predeclared identifier`

var _ = append
var _ error
