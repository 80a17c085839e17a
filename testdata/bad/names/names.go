// Package names declares what graphgen wants to.
package names

//graphgen:state
type State struct{ A int }

type StateUpdate struct{} // want `StateUpdate: graphgen declares this name for State \(.*names.go:5:6\); rename it`

var StateSchema = 1 // want `StateSchema: graphgen declares this name for State`

func graphgenState() {} // want `graphgenState: graphgen declares this name for State`

type graphgenStateFields int // want `graphgenStateFields: graphgen declares this name for State`

const graphgenStateNew = 2 // want `graphgenStateNew: graphgen declares this name for State`

func StateDiff() {} // want `StateDiff: graphgen declares this name for State`

var StateDiffOf = 3 // want `StateDiffOf: graphgen declares this name for State`

type graphgenStateWrites int // want `graphgenStateWrites: graphgen declares this name for State`

var graphgenStateChanges = 4 // want `graphgenStateChanges: graphgen declares this name for State`
