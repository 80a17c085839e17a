// Package twice names a type twice on one line.
package twice

//go:generate go tool graphgen -type=State,Doc,State

// want:-2 `State: is named twice; name it once`

type State struct{ A int }

type Doc struct{ A int }
