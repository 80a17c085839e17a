// Package hidden takes names of Go's for itself.
package hidden

//graphgen:state
type State struct{ A int }

func append() {} // want `append: hides what Go declares under this name, which generated code needs; rename it`

type error struct{} // want `error: hides what Go declares`

var _ = append
var _ error
