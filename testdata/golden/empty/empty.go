// Package empty has states and payloads that are almost empty.
package empty

//go:generate go tool graphgen -type=State,Untracked,Payload,Text,List,Blank

// State has no fields.
//
//graphgen:state
type State struct{}

// Untracked has nothing that is stored.
//
//graphgen:state
type Untracked struct {
	F func() `graph:"untracked"`
}

// Payload has no fields.
type Payload struct{}

// Text is a payload that is no struct.
type Text string

// List is a payload that is no struct.
type List []Text

// Blank has a field without a name.
//
//graphgen:state
type Blank struct {
	_ int
	A int
	_ string
}
