// Package names declares what graphgen wants to.
package names

//graphgen:state
type State struct{ A int }

type StateUpdate struct{} // want `StateUpdate: graphgen declares this name for State \(.*names.go:5:6\); rename it`

var StateSchema = 1 // want `StateSchema: graphgen declares this name for State`

func graphgenState() {} // want `graphgenState: graphgen declares this name for State`

type graphgenStateFields int // want `graphgenStateFields: graphgen declares this name for State`

const graphgenStateNew = 2 // want `graphgenStateNew: graphgen declares this name for State`
