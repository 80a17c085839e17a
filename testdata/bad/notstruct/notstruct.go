// Package notstruct names types that are no structs as states, and names that are no types.
package notstruct

//go:generate go tool graphgen -type=State,Other,missing,Constant

// want:-2 `missing: package notstruct declares no such type`

type State []int // want `State: is a slice, not a struct; a state is a struct whose fields have reducers`

//graphgen:state
type Other map[string]int // want `Other: is a map, not a struct`

const Constant = 1 // want `Constant: is a constant, not a type`
