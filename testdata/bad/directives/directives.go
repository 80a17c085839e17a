// Package directives has mistakes in directives.
package directives

//graphgen:state
type State struct{ A int }

//graphgen:stat
// want:-1 `graphgen:stat: unknown directive; there are //graphgen:state, //graphgen:payload and //graphgen:union`

//graphgen:state
var V int // want:-1 `graphgen:state: stands above no type`

//graphgen:state Other
type Other struct{ A int } // want:-1 `takes nothing after it, got "Other"`
