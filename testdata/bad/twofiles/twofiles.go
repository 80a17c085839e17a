// Package twofiles generates one type twice, and two types into one file.
package twofiles

//go:generate go tool graphgen -type=State
//go:generate go tool graphgen -type=Other,State
//go:generate go tool graphgen -type=Third -o state_graphgen.go

// want:-2 `go:generate: two lines write state_graphgen.go; name all types on one, or give one of them -o`

type State struct{ A int } // want `State: is generated into two files, state_graphgen.go and other_graphgen.go; name the type on only one go:generate line`

type Other struct{ A int }

type Third struct{ A int }
